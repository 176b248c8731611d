import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle, type ProfileStorage } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { createRecord, createStorage, type RecordInit } from '#tests/support/create-profile.ts'
import { type RunInit, runInTerminal } from '#tests/support/fake-terminal.ts'

const records: readonly RecordInit[] = [
  { token: '00000c', time: Date.parse('2026-11-20T11:00Z'), status: 0, outcome: 'unfinished' },
  {
    token: '00000a',
    time: Date.parse('2026-11-20T12:00Z'),
    url: 'http://localhost/shop?page=1',
    data: {
      request: { query: [['page', '1']] },
      logger: { records: [{ level: 'info', channel: 'app', message: 'Found.' }] },
      mail: 2,
    },
  },
  {
    token: '00000b',
    time: Date.parse('2026-11-20T13:00Z'),
    status: 500,
    url: 'http://localhost/\u009b2Jnowhere',
    failures: { http: 'It broke.' },
  },
]

const mailBundle: Bundle = {
  name: 'mail',
  register: ({ collectors }) => void collectors.push({ name: 'mail', collect: () => undefined }),
}

function createBundles(storage: ProfileStorage): Bundle[] {
  return [createFrameworkBundle(), createProfilerBundle({ storage }), mailBundle]
}

function run(line: string, init: RunInit = {}, storage: ProfileStorage = createStorage(...records)) {
  return runInTerminal(line, { load: async () => createBundles(storage), ...init })
}

async function ask(target: string): Promise<string> {
  const { client, close } = await createTestKernel({ bundles: createBundles(createStorage(...records)) })
  const { status, text } = await client.get(`/_profiler/${target}`)
  await close()
  return status === 200 ? text : `${status}`
}

t.test('profiler:show shows a whole profile, or one panel', async t => {
  const { code, stderr, stdout } = await run('profiler:show 00000a')
  t.equal(code, 0)
  t.match(
    stdout,
    /^`GET \/shop` took 5\.0 ms\.\n\n# 200 OK: `GET http:\/\/localhost\/shop\?page=1`\n\n- Token: `00000a`\n- Time: /,
  )
  t.match(stdout, /^## Request\n\n### Query\n\n- `page`: `1`\n\n## Response\n/m)
  t.match(stdout, /^## Logs\n\n- \+0 ms info `app` `Found\.`$/m)
  t.equal(stderr, '\n--panel shows one of them in detail: overview, request, time, logger, config, mail.\n')
  const panel = await run('profiler:show 00000a --panel logger')
  t.match(panel.stdout, /^## Logs/m)
  t.notMatch(panel.stdout, /^## Request/m)
  t.equal(panel.stderr, '')
  t.match((await run('profiler:show 00000a --panel mail')).stdout, /^## `mail`\n\n```json\n2\n```$/m)
  t.match((await run('profiler:show 00000a --panel router')).stdout, /^No data for this panel\.$/m)
  const failed = await run('profiler:show latest', { width: 60 })
  t.match(failed.stdout, /^.*GET \/ 2Jnowhere.*was answered with 500 in 5\.0 ms\.\n/, 'the answer comes first')
  t.match(failed.stdout, '\n\u001b[31m# 500 Internal Server Error: ')
  t.match(failed.stdout, /http.*failed.*It broke\./)
  t.match((await run('profiler:show 00000c', { width: 60 })).stdout, '\n\u001b[1m# No response: ')
})

t.test('JSON and Markdown equal those of the web', async t => {
  for (const panel of ['', 'request', 'logger', 'mail', 'config']) {
    const [option, query] = panel === '' ? ['', ''] : [`--panel ${panel}`, `?panel=${panel}`]
    const json = JSON.parse((await run(`profiler:show 00000a ${option} --json`)).stdout)
    t.strictSame(json, JSON.parse(await ask(`00000a.json${query}`)))
    t.equal((await run(`profiler:show 00000a ${option} --md`)).stdout, await ask(`00000a.md${query}`))
  }
})

t.test('profiler:show names missing profiles and panels', async t => {
  const unknown = await run('profiler:show 00000a --panel nope')
  t.equal(unknown.code, 1)
  t.match(unknown.stderr, /^The profile has no panel "nope"\. It has overview, request, unit, time, .*, mail\.\n$/)
  t.equal(await ask('00000a.md?panel=nope'), '404')
  for (const command of ['show', 'export --har']) {
    const [name, ...options] = command.split(' ')
    const line = (token: string) => `profiler:${name} ${token} ${options.join(' ')}`
    t.match((await run(line('00ffff'))).stderr, 'There is no profile "00ffff"')
    t.match((await run(line('latest'), {}, new MemoryProfileStorage())).stderr, 'No requests recorded yet.')
    const wrong = await run(line('nope'))
    t.equal(wrong.code, 64)
    t.match(wrong.stderr, '"nope" is no token: a token is six hexadecimal digits, or "latest".')
  }
})

t.test('tokens and panels are suggested to the shell', async t => {
  const complete = async (...words: string[]) =>
    (await runInTerminal(['__complete', ...words], { load: async () => createBundles(createStorage(...records)) }))
      .stdout
  t.match(
    await complete('profiler:show', ''),
    /^latest\tthe latest request\n00000b\t500 GET http:\/\/localhost\/\\u009b2J/,
  )
  t.match(await complete('profiler:show', '00000a', '--panel', 'lo'), /^logger\tLogs\n$/)
  t.match(await complete('profiler:export', '00000a', '--h'), /^--har\t.*\n--html\t/)
})

t.test('profiler:export writes the same exports as the web', async t => {
  for (const kind of ['har', 'curl', 'html', 'json']) {
    const { code, stderr, stdout } = await run(`profiler:export 00000a --${kind}`)
    t.equal(code, 0)
    t.equal(stderr, '')
    t.equal(stdout.trimEnd(), (await ask(`00000a/export/${kind}`)).trimEnd(), kind)
  }
  t.equal((await run('profiler:export 00000a --md')).stdout, await ask('00000a.md'))
  t.hasStrict(await run('profiler:export 00000a --cpuprofile'), {
    code: 1,
    stderr: 'The CPU was not sampled during the request 00000a.\n',
  })
  t.match((await run('profiler:export latest --html')).stdout, 'nowhere')
  t.notMatch((await run('profiler:export latest --html', { width: 80 })).stdout, /[^\P{Cc}\n]/u, 'a terminal is safe')
})

t.test('no export contains a control character of terminals, for any target', async t => {
  const text = `a\u001b]0;title\u0007\u009b2J\r\u007f\u202e\u2066\u200f\u061c\u2028\u2029b`
  const form = [[text, text]]
  const storage = createStorage(...records)
  const message = { level: 'error', channel: text, message: text, context: { [text]: text } }
  const data = {
    request: { headers: [['x-a', text]], query: form, body: { type: 'multipart/form-data', form } },
    response: { headers: [['x-b', text]] },
    logger: { records: [message] },
    exception: { exceptions: [{ class: text, message: text, stack: text, frames: [] }] },
    http: { calls: [{ method: text, url: `http://a/${text}`, start: 1 }] },
    mail: { [text]: text },
    cpu: {
      samples: 1,
      busy: 5,
      idle: 0,
      functions: [{ name: text, file: text, origin: 'vendor', self: 5, total: 5 }],
      calls: [[0, -1, 5, 5]],
    },
  }
  const failures = { [text]: text }
  const record = { token: '00000d', method: 'POST', url: `http://localhost/${text}`, controller: text, data, failures }
  storage.append(createRecord({ ...record, time: Date.parse('2026-11-20T14:00Z') }), '{}')
  const storeOf = async (kind: string) => (await run(`profiler:export 00000d --${kind}`, {}, storage)).stdout
  for (const kind of ['har', 'curl', 'cpuprofile', 'html', 'json', 'md']) {
    const written = await storeOf(kind)
    t.ok(written.length > 100, kind)
    t.notMatch(written, /[^\P{Cc}\n]|[\p{Bidi_Control}\u2028\u2029]/u, kind)
  }
  t.match(await storeOf('html'), 'a\\u001b]0;title\\u0007\\u009b2J\\r\\u007f\\u202e')
})

t.test('profiler:export needs exactly one format', async t => {
  const choice = 'one of --har, --curl, --cpuprofile, --html, --json, --md.'
  const cases: [options: string, message: string][] = [
    ['', `The format is missing: add ${choice}\n`],
    ['--out file', `The format is missing: add ${choice}\n`],
    ['--har --md', `--har and --md do not go together: choose ${choice}\n`],
    ['--har --curl --json', `--har and --curl do not go together: choose ${choice}\n`],
    ['--har --force', '--force needs a file: add --out.\n'],
  ]
  for (const [options, message] of cases) {
    const { code, stderr, stdout } = await run(`profiler:export 00000a ${options}`)
    t.equal(code, 64)
    t.equal(stderr, message)
    t.equal(stdout, '')
  }
})

t.test('a file is readable by its owner only, and by default replaces no other file', async t => {
  const folder = t.testdir()
  const file = path.join(folder, 'page.har')
  const write = (options: string) => run(`profiler:export 00000a ${options}`)
  const first = await write(`--har --out ${file}`)
  t.equal(first.code, 0)
  t.equal(first.stdout, '')
  t.match(first.stderr, /^Written to .*page\.har, .+\.\n$/)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(readFileSync(file, 'utf8'), (await write('--har')).stdout)

  const again = await write(`--curl --out ${file}`)
  t.equal(again.code, 1)
  t.match(again.stderr, /page\.har exists already: --force replaces it\.\n$/)
  t.equal(JSON.parse(readFileSync(file, 'utf8')).log.version, '1.2')

  const other = path.join(folder, 'other')
  writeFileSync(other, 'kept')
  const link = path.join(folder, 'link')
  symlinkSync(other, link)
  chmodSync(file, 0o644)
  for (const place of [file, link]) {
    t.equal((await write(`--curl --out ${place} --force`)).code, 0)
    t.match(readFileSync(place, 'utf8'), /^#!\/bin\/sh\ncurl /)
    t.equal(statSync(place).mode & 0o777, 0o600)
  }
  t.equal(readFileSync(other, 'utf8'), 'kept')

  mkdirSync(path.join(folder, 'directory'))
  t.match(
    (await write(`--curl --out ${folder}/directory --force`)).stderr,
    /directory cannot be written: EISDIR\. It is a folder: name a file in it\.\n$/,
  )
  t.match((await write(`--curl --out ${folder}/directory`)).stderr, /EISDIR\. It is a folder/)
  t.match(
    (await write(`--curl --out ${folder}/none/file`)).stderr,
    /none\/file cannot be written: ENOENT\. Create its folder\.\n$/,
  )
  t.strictSame(readdirSync(folder).sort(), ['directory', 'link', 'other', 'page.har'], 'nothing else is left')
})
