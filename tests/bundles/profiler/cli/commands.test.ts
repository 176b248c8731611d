import { createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle, type ProfileStorage } from 'sinfonietta/profiler'
import { t } from 'tap'
import { filterOptions, pagingOptions } from '#bundles/profiler/cli/profiler-list.ts'
import { searchParameters } from '#bundles/profiler/insight/list-request.ts'
import { gatherStatistics } from '#bundles/profiler/insight/routes.ts'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { createProfile, createRecord, createStorage, type RecordInit } from '#tests/support/create-profile.ts'
import { type RunInit, runInTerminal } from '#tests/support/fake-terminal.ts'

const hour = 3_600_000
const noon = Date.parse('2026-11-20T12:00Z')

const logs = [{ level: 'info', channel: 'app', message: 'Found.' }]

const records: readonly RecordInit[] = [
  {
    token: '00000a',
    time: noon,
    duration: 4,
    route: 'shop',
    url: 'http://localhost/shop?page=1',
    data: { request: { query: [['page', '1']] }, logger: { records: logs } },
  },
  {
    token: '00000b',
    time: noon + hour,
    duration: 9,
    route: 'shop',
    url: 'http://localhost/shop?page=2',
    data: { request: { query: [['page', '2']] } },
  },
  {
    token: '00000c',
    fingerprint: 'abcdef12',
    time: noon + 2 * hour,
    status: 500,
    method: 'POST',
    duration: 40,
    route: 'buy',
    exception: 'TypeError',
    errors: 1,
    queries: 51,
    queryTime: 38,
    cacheCalls: 2,
    url: 'http://localhost/buy',
    ip: '10.0.0.7',
  },
  {
    token: '00000e',
    time: noon + 3 * hour,
    parent: '00000d',
    status: 404,
    route: null,
    url: 'http://localhost/\u001b[2Jnowhere',
  },
  {
    token: '00000d',
    time: noon + 3 * hour,
    status: 404,
    route: null,
    url: 'http://localhost/\u001b[2Jnowhere',
    subRequests: 1,
    children: ['00000e'],
    failures: { http: 'It broke.' },
  },
]

function run(
  line: string | readonly string[],
  storage: ProfileStorage = createStorage(...records),
  init: RunInit = {},
) {
  const bundle = createProfilerBundle({ storage })
  return runInTerminal(line, { load: async () => [createFrameworkBundle(), bundle], ...init })
}

const tokensOf = (stdout: string) => stdout.match(/\b00000[a-z]\b/g) ?? []
const tokens = async (line: string) => tokensOf((await run(line)).stdout)

t.test('profiler:list lists the latest requests first, with their sub-requests below, and counts all', async t => {
  const { code, stderr, stdout } = await run('profiler:list')
  t.equal(code, 0)
  t.equal(stderr, '')
  const lines = stdout.split('\n')
  t.match(lines[0], /^Status +Method +URL +Route +Duration +Queries +Token +Notes +Time +IP$/)
  t.match(
    lines[1],
    /^ +404 +GET +\/\\u001b\[2Jnowhere +5\.\d* ms +00000d +1 sub-request +2026-11-20 15:00:00 +127\.0\.0\.1$/,
  )
  t.match(lines[2], /^ +\d+ +GET +└ .* 00000e /)
  t.match(
    lines[3],
    /500 +POST +\/buy +buy +40 ms +51 in 38 ms +00000c +TypeError, 1 error, 2 cache calls .* 10\.0\.0\.7$/,
  )
  t.strictSame(tokensOf(stdout), ['00000d', '00000e', '00000c', '00000b', '00000a'])
  t.match(stdout, /\n5 results found\n$/)
})

t.test('profiler:list has every filter of the web', async t => {
  t.strictSame(await tokens('profiler:list --ip 10.0'), ['00000c'])
  t.strictSame(await tokens('profiler:list --method post'), ['00000c'])
  t.strictSame(await tokens('profiler:list --status 5xx'), ['00000c'])
  t.strictSame(await tokens('profiler:list --url page='), ['00000b', '00000a'])
  t.strictSame(await tokens('profiler:list --url !localhost/shop --limit 1'), ['00000d'])
  t.strictSame(await tokens('profiler:list --token 0E'), ['00000e'])
  t.match((await run('profiler:list --token 0E')).stdout, /\n.*└ \/\\u001b\[2Jnowhere/)
  t.strictSame(await tokens('profiler:list --type sub-request'), ['00000e'])
  t.strictSame(await tokens('profiler:list --only main'), ['00000d', '00000c', '00000b', '00000a'])
  t.strictSame(await tokens('profiler:list --status 50'), ['00000c'], 'a part of the status')
  t.strictSame(await tokens('profiler:list --text BUY'), ['00000c'])
  t.strictSame(await tokens('profiler:list --only errors'), ['00000c'])
  t.strictSame(await tokens('profiler:list --only 4xx'), ['00000d', '00000e'])
  t.strictSame(await tokens('profiler:list --slower 40'), ['00000c'])
  t.strictSame(await tokens('profiler:list --exception Type'), ['00000c'])
  t.strictSame(await tokens('profiler:list --exception *'), ['00000c'])
  t.strictSame(await tokens('profiler:list --content json'), [])
  t.strictSame(await tokens('profiler:list --route buy'), ['00000c'])
  t.strictSame(await tokens('profiler:list --queries 10..'), ['00000c'])
  t.strictSame(await tokens('profiler:list --sort queryTime --limit 1'), ['00000c'])
  t.match((await run('profiler:list --queries many')).stderr, '--queries must be a number such as 10, or a range')
  t.notMatch((await run('profiler:list --queries 0')).stdout, 'Queries', 'a column without a value is left out')
  t.strictSame(await tokens('profiler:list --error ABCDEF12'), ['00000c'])
  t.strictSame(await tokens('profiler:list --type command'), [])
  t.strictSame(await tokens('profiler:list --from 2026-11-20T13:00 --until 2026-11-20T14:00'), ['00000c', '00000b'])
  t.strictSame(await tokens('profiler:list --sort duration --order asc --limit 2'), ['00000a', '00000d'])
  t.strictSame(await tokens('profiler:list --sort duration --limit 2'), ['00000c', '00000b'])
  const storage = createStorage(...records)
  await storage.pin('00000b', true)
  const pinned = await run('profiler:list --pinned', storage)
  t.strictSame(tokensOf(pinned.stdout), ['00000b'])
  t.match(pinned.stdout, / pinned /)
  const known: unknown[] = [...filterOptions, ...pagingOptions].map(
    option => Object.assign({ parameter: option.name }, option).parameter,
  )
  t.strictSame(known.sort(), searchParameters.toSorted())
})

t.test('profiler:list has pages', async t => {
  const { stderr, stdout } = await run('profiler:list --limit 2 --page 2')
  t.strictSame(tokensOf(stdout), ['00000c', '00000b'])
  t.match(stdout, '\n2 results found · 5 in all\n')
  t.equal(stderr, '--page and --limit show the others.\n')
  const none = await run('profiler:list --url nope --route star_photo_both --method GET')
  t.equal(none.stdout, 'No results found\n')
  t.match(
    none.stderr,
    /^None of \d+ profiles fits --url "nope", nor --route "star_photo_both"(?:; the nearest is "star_photo_booth")?\.\n$/,
  )
  const { records, total } = JSON.parse((await run('profiler:list --limit 1 --json')).stdout)
  t.equal(total, 5)
  t.strictSame(records, [{ ...createProfile({}, records[0]).summary, isPinned: false }])
})

t.test('profiler:list refuses invalid options', async t => {
  const cases: [line: string, message: string][] = [
    ['--from yesterday', '--from must be a date such as 2026-11-20, or seconds since 1970, not "yesterday".'],
    ['--until 2026-02-30', '--until must be a date'],
    ['--limit ten', '--limit must be a number from 1, not "ten".'],
    ['--page 0', '--page must be a number from 1, not "0".'],
    [
      '--status 5000',
      '--status must be a status such as 404, a part of one such as 40, a class such as 4xx, or a range such as 500..599, not "5000".',
    ],
    ['--slower fast', '--slower must be milliseconds such as 250, not "fast".'],
    ['--only errors,client', '--only must be one of main, errors, slow, 4xx, api, not "client".'],
    ['--follow --sort url', '--follow and --sort do not go together.'],
    ['--url=', "error: option '--url <text>' argument '' is invalid. It is empty."],
    ['--type page', '--type must be one of request, '],
    ['--queries 20..5', '--queries must be a number such as 10, or a range'],
    ['--from 2026-12-01 --until 2026-11-01', '--from must be before --until'],
  ]
  for (const [options, message] of cases) {
    const { code, stderr, stdout } = await run(`profiler:list ${options}`)
    t.equal(code, 64)
    t.ok(stderr.startsWith(message), stderr)
    t.equal(stdout, '')
  }
})

t.test('profiler:list --follow shows new profiles until it is interrupted', async t => {
  const storage = createStorage(...records)
  const user = new AbortController()
  let hasStarted = false
  const { code, stdout } = await run('profiler:list --limit 2 --status 404 --follow', storage, {
    signal: user.signal,
    onOutput(text) {
      if (text.includes('00001b')) user.abort()
      if (hasStarted) return
      hasStarted = true
      setImmediate(() => {
        storage.append(createRecord({ token: '00001a', status: 200 }), '{}')
        storage.append(createRecord({ token: '00001b', status: 404, url: 'http://localhost/new' }), '{}')
      })
    },
  })
  t.equal(code, 0)
  t.match(stdout, /00000e[\s\S]+00000d[\s\S]+\/new[\s\S]+00001b/)
  t.notMatch(stdout, '00001a')
  storage.append(createRecord({ token: '00001c', status: 404 }), '{}')
  t.equal(
    (await run('profiler:list --follow --json', storage, { signal: AbortSignal.abort() })).stdout.trim().split('\n')
      .length,
    8,
  )
  const ofSubRequests = await run('profiler:list --follow --type sub-request', storage, { signal: AbortSignal.abort() })
  t.strictSame(tokensOf(ofSubRequests.stdout), ['00000e'])
})

t.test('profiler:stats shows each route', async t => {
  const { code, stdout } = await run('profiler:stats')
  t.equal(code, 0)
  const lines = stdout.split('\n')
  t.match(lines[0], /^Route +Requests +p50 +p95 +p99 +Queries +Errors +Slowest +Token$/)
  t.match(lines[1], /^shop +2 +4\.\d* ms +9\.\d* ms +9\.\d* ms +0 % +9\.\d* ms +00000b$/)
  t.match(stdout, /^buy +1 .* 51 +100 % +40 ms +00000c$/m)
  t.match(stdout, /^\(no route\) +1 /m)
  t.match((await run('profiler:stats --sort worst')).stdout.split('\n')[1], /^buy/)
  t.match((await run('profiler:stats --sort p50')).stdout.split('\n')[1], /^buy/)
  t.match((await run('profiler:stats --sort queries')).stdout.split('\n')[1], /^buy/)
  t.notMatch((await run('profiler:stats --route shop')).stdout, 'Queries')
  t.match(await run('profiler:stats --route nope'), { stdout: 'No results found\n', stderr: 'fits --route "nope".\n' })
  t.equal(JSON.parse((await run('profiler:stats --url shop --json')).stdout).requests, 2)
})

t.test('percentiles are measured values', async t => {
  const summaries = Array.from(
    { length: 200 },
    (_, index) =>
      createProfile({}, { duration: index + 1, queries: index, outcome: index === 0 ? 'crashed' : 'complete' }).summary,
  )
  const worst = (duration: number, outcome = 'complete') => ({
    token: 'abc123',
    type: 'request',
    status: 200,
    outcome,
    duration,
  })
  t.strictSame(gatherStatistics(summaries), [
    {
      route: 'somewhere',
      operation: null,
      program: 'sinfonietta',
      count: 200,
      total: 20_100,
      p50: 100,
      p95: 190,
      p99: 198,
      queries: 99,
      mostQueries: 199,
      errors: 1,
      errorRate: 0.005,
      clientErrors: 0,
      worst: worst(200),
      slowest: [200, 199, 198].map(duration => worst(duration)),
      failed: [worst(1, 'crashed')],
    },
  ])
})

t.test('a second value of an option is said to replace the first, unless it is the same', async t => {
  t.match(await run('profiler:list --limit 20 --limit 5'), {
    code: 0,
    stderr: '"5" replaces "20", which was given before.',
  })
  t.strictSame((await run('profiler:list --limit 5 --limit 5 --findings --findings')).stderr, '')
})

t.test('profiler:purge asks before it deletes', async t => {
  const storage = createStorage(...records)
  await storage.pin('00000b', true)
  const no = await run('profiler:purge', storage, { answer: 'n\n' })
  t.equal(no.code, 1)
  t.match(no.stderr, /^Delete 4 profiles, .*\? \[y\/N\] Nothing was deleted\.\n$/)
  t.equal((await storage.usage()).profiles, 5)
  t.equal((await run('profiler:purge', storage)).code, 64, 'without a terminal there is no answer')
  const yes = await run('profiler:purge --yes', storage)
  t.equal(yes.code, 0)
  t.equal(yes.stdout, '4 profiles deleted. 1 profile stays.\n')
  const again = await run('profiler:purge --json', storage)
  t.strictSame(JSON.parse(again.stdout), { deleted: 0, kept: 1 })
  await storage.pin('00000b', false)
  t.equal((await run('profiler:purge', storage, { answer: 'y\n' })).stdout, '1 profile deleted.\n')
})

t.test('profiler:purge shows the number of kept profiles', async t => {
  const storage = createStorage(...records)
  for (const token of ['00000a', '00000b']) await storage.pin(token, true)
  t.equal((await run('profiler:purge --yes', storage)).stdout, '3 profiles deleted. 2 profiles stay.\n')
})

t.test('profiler:compare shows the differences', async t => {
  const { code, stdout } = await run('profiler:compare 00000a 00000b')
  t.equal(code, 0)
  t.match(
    stdout,
    /^1 change: 1 log message\.\n\nCompared: same path, another query\.\n\nRequest differs: URL .*, 1 GET parameter \(page\)\.\n\nA {2}00000a .*\nB {2}00000b /,
  )
  t.match(stdout, /^Timings +A +B +Difference\nTotal .*\+5\.0 ms \+125 %$/m)
  t.match(stdout, /^page +1 +2$/m)
  t.match(stdout, /^Found\. \(info, app\) +logged +–$/m)
  t.match((await run('profiler:compare 00000b')).stdout, /^A {2}00000a/m, 'with the one before it')
  t.match((await run('profiler:compare 00000a 00000a')).stdout, /^Nothing changed\.$/m)
  const other = await run('profiler:compare 00000a 00000c')
  t.match(other.stdout, /^page +1 +–$/m)
  t.match((await run('profiler:compare 00000c 00000a')).stdout, /−36 ms −90 %$/m)
  const { comparison, first } = JSON.parse((await run('profiler:compare 00000b --json')).stdout)
  t.equal(first.token, '00000a')
  t.ok(comparison.timings.length > 0)
  const storage = createStorage(...records)
  const started = '2026-11-20T18:00:00.000Z'
  const keep = (token: string, time: string, server: object) =>
    storage.append(createRecord({ token, time: Date.parse(time) }), JSON.stringify({ server }))
  keep('0000a1', '2026-11-20T17:00:00Z', {})
  keep('0000a2', '2026-11-20T19:00:00Z', {
    process: { started },
    edits: [{ time: Date.parse(started), files: ['blog/list.ts', 'blog.hbs'] }],
  })
  keep('0000a3', '2026-11-20T19:30:00Z', { process: { started } })
  t.match(
    (await run('profiler:compare 0000a1 0000a2', storage)).stdout,
    '\nThe server restarted in between, at 20 Nov 2026, 18:00:00 UTC, after edits of blog/list.ts, blog.hbs.\n',
  )
  t.match((await run('profiler:compare 0000a1 0000a3', storage)).stdout, ', 18:00:00 UTC.\n')
  const { restart } = JSON.parse((await run('profiler:compare 0000a1 0000a2 --json', storage)).stdout)
  t.strictSame(restart, { time: Date.parse(started), changed: ['blog/list.ts', 'blog.hbs'] })
  for (const [line, message] of [
    ['00000a', 'There is no earlier profile of the same request as "00000a".'],
    ['0fffff', 'There is no profile "0fffff": it has expired, was deleted, or never existed.'],
    ['00000a 0fffff', 'There is no profile "0fffff"'],
  ] as const) {
    const { code, stderr } = await run(`profiler:compare ${line}`)
    t.equal(code, 1)
    t.ok(stderr.startsWith(message), stderr)
  }
})

t.test('control characters in a profile do not reach the terminal', async t => {
  for (const command of [
    'list',
    'list --json',
    'list --md',
    'show latest',
    'show latest --json',
    'show latest --md',
    'show latest --panel request',
    'export latest --curl',
    'export latest --har',
    'export latest --json',
    'export latest --md',
    'compare 00000a latest',
    'stats',
  ]) {
    const { stderr, stdout } = await run(`profiler:${command}`)
    t.notMatch(stdout + stderr, /[^\P{Cc}\n]/u, command)
  }
})

t.test('profiles of other processes are read', async t => {
  const directory = t.testdir()
  const onProblem = (message: string) => void t.fail(message)
  const writer = new FileProfileStorage({ directory, onProblem, segmentBytes: 1 })
  for (let index = 0; index < 4; index++) {
    writer.append(createRecord({ token: `00000${index}` }), '{}')
    await writer.flush()
  }
  const reader = new FileProfileStorage({ directory, onProblem })
  await reader.load()
  t.equal((await reader.search({ limit: 9 })).total, 4)
  await writer.close()
  const { stdout } = await run('profiler:list', new FileProfileStorage({ directory, onProblem }))
  t.match(stdout, /\n4 results found\n$/)
})
