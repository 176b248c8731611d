import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { t } from 'tap'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { toPlainText } from '#bundles/profiler/insight/overview/sentence.ts'
import { formatDuration } from '#bundles/profiler/profile/format.ts'
import { coveredWorkTime, formatWorkTime, readReceived, readStops, workTime } from '#bundles/profiler/profile/work.ts'
import { watchMoreCallbacks } from '#bundles/profiler/record/loop-activity.ts'
import { readCalls } from '#bundles/profiler/subjects/http/read.ts'
import { readQueries, readWaits } from '#bundles/profiler/subjects/queries/read.ts'
import { Response } from '#lib/http/response.ts'
import { toil } from '#tests/bundles/profiler/insight/findings/planted/work-pages.ts'
import { createProfile, createQuery } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { recordServer } from '#tests/support/record-server.ts'
import { provenRuns } from '#tests/support/sample.ts'

const usage = { wall: 500, cpu: {}, heap: {}, requests: {}, loop: { active: 400, idle: 100 } }
const pauses = { count: 0, total: 0, longest: [] }
const blockOf = (start: number, duration: number, by = 'abc123') => ({
  start,
  duration,
  cpu: duration,
  by,
  isOwn: true,
})
const memoryOf = (...blocks: readonly object[]) => ({ ...usage, pauses, blocks })
const callOf = (start: number, end: number) => ({
  client: 'fetch',
  method: 'GET',
  url: 'http://x/',
  status: 200,
  start,
  end,
})

/** A request whose controller worked from 2 ms until 460 ms. */
const events = {
  dropped: 0,
  spans: [
    [null, 'kernel.request', 0, 1000],
    [null, 'kernel.controller', 1100, 100],
    [null, 'kernel.controller_arguments', 1300, 700],
    [null, 'kernel.response', 460_000, 500],
    [null, 'kernel.terminate', 461_000, 100],
  ],
}

t.test('the time of work whose end a blocked event loop hides is shown as a limit', t => {
  t.strictSame(
    [{ end: 430, stopped: 419 }, { end: 430, stopped: 420 }, { end: 430, stopped: 100 }, { end: 430 }, {}].map(work =>
      formatWorkTime({ start: 10, end: undefined, ...work }),
    ),
    ['≤ 420 ms', '≤ 420 ms', '320 ms', '420 ms', ''],
  )
  t.end()
})

t.test('a query, a call and a wait that a blocked event loop makes long have no finding of their own', t => {
  const [start, end] = [10, 430]
  const rows: readonly (readonly [name: string, data: object])[] = [
    ['slow-query', { queries: { queries: [createQuery({ start, end })], omitted: 0 } }],
    ['starved-pool', { queries: { queries: [], omitted: 0, waits: [{ system: 'postgresql', start, duration: 420 }] } }],
    ['sequential-calls', { http: { calls: [callOf(10, 220), { ...callOf(221, 430), url: 'http://y/' }], omitted: 0 } }],
  ]
  const rulesOf = (data: object) =>
    findFindings(createProfile({ events, ...data }, { duration: 470 })).map(({ rule }) => rule)
  for (const [rule, data] of rows) {
    t.ok(rulesOf(data).includes(rule), `${rule} without a block`)
    const blocked = rulesOf({ ...data, memory: memoryOf(blockOf(12, 210), blockOf(224, 204)) })
    t.notOk(blocked.includes(rule), `${rule} behind a block`)
    const collected = {
      ...pauses,
      longest: [
        { start: 12, duration: 210 },
        { start: 224, duration: 204 },
      ],
    }
    t.notOk(rulesOf({ ...data, memory: { ...memoryOf(), pauses: collected } }).includes(rule), `${rule} and garbage`)
  }
  t.end()
})

t.test('the client sent the body no longer than the event loop was idle, unless other requests were at work', t => {
  const waitOf = (memory: object) =>
    readReceived(createProfile({ events: { ...events, received: [1000, 53_000] }, ...memory }).collectors)
  const memory = (idle: number, most: number) => ({
    memory: { ...memoryOf(), loop: { active: 400, idle }, requests: { most } },
  })
  t.strictSame(waitOf(memory(0, 0)), [{ start: 1, duration: 0 }])
  t.strictSame(waitOf(memory(100, 0)), [{ start: 1, duration: 53 }])
  t.strictSame(waitOf(memory(0, 1)), [{ start: 1, duration: 53 }], 'these may have kept it busy')
  t.strictSame(waitOf({}), [{ start: 1, duration: 53 }])
  t.end()
})

t.test('a call that a blocked event loop makes longer than two seconds needs no limit', t => {
  const call = { ...callOf(10, 2500), isUnlimited: true }
  const rulesOf = (...blocks: readonly object[]) => {
    const data = { http: { calls: [call], omitted: 0 }, memory: memoryOf(...blocks) }
    return findFindings(createProfile(data, { duration: 2600 })).map(({ rule }) => rule)
  }
  t.ok(rulesOf().includes('unlimited-call'))
  t.notOk(rulesOf(blockOf(100, 900)).includes('unlimited-call'))
  t.end()
})

t.test('the time of a call in a transaction is its own, too', t => {
  const queries = [
    createQuery({ text: 'BEGIN', start: 0, end: 1, transaction: 1 }),
    createQuery({ text: 'COMMIT', start: 431, end: 432, transaction: 1 }),
  ]
  const problemsOf = (end: number) => {
    const data = { queries: { queries, omitted: 0 }, http: { calls: [callOf(2, end)], omitted: 0 } }
    const findings = findFindings(createProfile({ ...data, memory: memoryOf(blockOf(10, 400)) }, { duration: 470 }))
    return findings.flatMap(({ problem, rule }) => (rule === 'transaction-call' ? [problem] : []))
  }
  t.match(problemsOf(430), [/ 1 HTTP client call of 28 ms: /])
  t.strictSame(problemsOf(412), [], 'its own 10 ms are less than half of the 30 ms without a query')
  t.end()
})

t.test('a synchronous query blocks the event loop itself, so its time is its own', t => {
  const query = createQuery({ system: 'sqlite', start: 10, end: 430 })
  const profile = createProfile({ queries: { queries: [query], omitted: 0 }, memory: memoryOf(blockOf(10, 420)) })
  t.equal(readQueries(profile).database.shapes[0]?.total, 420)
  t.ok(findFindings(profile).some(({ rule }) => rule === 'slow-query'))
  t.end()
})

t.test('the time of a block belongs to the code that was at work, not to what it waited for', t => {
  const data = { events, http: { calls: [callOf(10, 430)], omitted: 0 }, memory: memoryOf(blockOf(20, 405)) }
  const { parts, sentence } = summarizeProfile({
    profile: createProfile(data, { duration: 470 }),
    earlier: [],
    findings: [],
  })
  const times = Object.fromEntries(parts.map(({ label, time }) => [label, time / 1000]))
  t.match(times, { 'HTTP client calls': 15 })
  t.ok(Number(times.Controller) > 400, 'the controller has the rest')
  t.notMatch(toPlainText(sentence), 'HTTP client call')
  t.end()
})

t.test(
  'a block by a synchronous call is that of the request that has made it, also if nothing else names its owner',
  t => {
    const syncCalls = [{ name: 'child_process.execSync', start: 10, duration: 400 }]
    const memory = { ...memoryOf({ ...blockOf(10, 400, ''), isOwn: false }), syncCalls }
    const profile = createProfile({ events, memory }, { duration: 470 })
    const { parts } = summarizeProfile({ profile, earlier: [], findings: [] })
    const times = Object.fromEntries(parts.map(({ label, time }) => [label, time / 1000]))
    t.ok(Number(times.Controller) > 400)
    t.notOk(parts.some(({ kind }) => kind === 'blocked' || kind === 'stopped'))
    t.end()
  },
)

t.test('many synchronous calls are the cause of one block', t => {
  const at = (line: number) => ({ name: 'child_process.execSync', duration: 60, caller: { file: '/app.js', line } })
  const calls = Array.from({ length: 6 }, (_, index) => ({ ...at(7), start: 10 + 62 * index }))
  const block = { ...blockOf(10, 372, ''), cpu: 1, isOwn: false }
  const problemsOf = (syncCalls: readonly object[]) =>
    findFindings(createProfile({ events, memory: { ...memoryOf(block), syncCalls } }, { duration: 470 })).map(
      ({ problem, rule, values }) => [rule, problem, values?.name],
    )
  const problem = 'This request blocked the event loop for 372 ms, in {name}.'
  t.strictSame(problemsOf(calls), [['blocked-loop', problem, 'child_process.execSync()']])
  // Of different lines, none is most of the block, but the process ran.
  const others = problemsOf(calls.map((call, index) => ({ ...call, ...at(index) })))
  t.notMatch(others.join(' '), 'did not run')
  t.end()
})

t.test('the own times of random work are those without blocks and garbage, added up moment by moment', t => {
  const period = fc.record({ start: fc.nat(300), duration: fc.nat(120) })
  const periods = fc.array(period, { maxLength: 5 })
  fc.assert(
    fc.property(periods, periods, periods, periods, (queries, calls, blocks, garbage) => {
      const toEnd = ({ duration, start }: { readonly duration: number; readonly start: number }) => ({
        start,
        end: start + duration,
      })
      const profile = createProfile({
        queries: { queries: queries.map(each => createQuery(toEnd(each))), omitted: 0 },
        http: { calls: calls.map(each => ({ ...callOf(0, 0), ...toEnd(each) })), omitted: 0 },
        memory: {
          ...memoryOf(...blocks.map(({ duration, start }) => blockOf(start, duration))),
          pauses: { ...pauses, longest: garbage },
        },
      })
      const isStopped = (moment: number) =>
        [...blocks, ...garbage].some(({ duration, start }) => start <= moment && moment < start + duration)
      const ownOf = (...work: readonly { readonly start: number; readonly duration: number }[]) => {
        let own = 0
        for (let moment = 0; moment < 600; moment++) {
          const isAtWork = work.some(({ duration, start }) => start <= moment && moment < start + duration)
          if (isAtWork && !isStopped(moment)) own++
        }
        return own
      }
      const { database } = readQueries(profile)
      const stored = readCalls(profile).calls
      t.strictSame(
        [database.queries.map(workTime), database.covered, stored.map(workTime)],
        [queries.map(each => ownOf(each)), ownOf(...queries), calls.map(each => ownOf(each))],
      )
      t.equal(coveredWorkTime([...database.queries, ...stored], readStops(profile)), ownOf(...queries, ...calls))
      t.equal(readWaits(profile).time, 0)
    }),
    { numRuns: 60 },
  )
  t.end()
})

/**
 * What the event loop of a request does in a time: the block that is recorded, its part of the
 * overview, and the claim of its finding.
 */
const turns: Readonly<Record<string, readonly [block: object | undefined, part: string, claim: RegExp | undefined]>> = {
  waits: [undefined, '', undefined],
  collects: [undefined, 'Garbage collection', undefined],
  works: [{ by: 'abc123', isOwn: true }, '', /^This request blocked the event loop for (\S+ m?s), in/],
  serves: [{ by: 'fedcba', isOwn: true }, 'Blocked by other work', /^This request waited (\S+ m?s) for other work,/],
  computes: [{ by: '' }, 'Blocked, cause not known', /blocked for (\S+ m?s)\. Whose work it was is not known\.$/],
  stops: [{ by: 'abc123', isOwn: true, cpu: 0 }, 'No CPU time', /^The process did not run for (\S+ m?s):/],
}

/** Milliseconds in which the process did not run. */
const awayOf = (parts: readonly { readonly label: string; readonly time: number }[]) =>
  (parts.find(({ label }) => label === 'No CPU time')?.time ?? 0) / 1000

t.test('a synchronous query that waits for a lock is no process that did not run', t => {
  const queries = [createQuery({ system: 'sqlite', start: 10, end: 430 })]
  const memory = memoryOf({ ...blockOf(10, 420), cpu: 2 })
  const profile = createProfile({ events, queries: { queries, omitted: 0 }, memory }, { duration: 470 })
  t.equal(awayOf(summarizeProfile({ profile, earlier: [], findings: [] }).parts), 0)
  t.notMatch(
    findFindings(profile).map(({ problem }) => problem),
    ['did not run'],
  )
  t.end()
})

t.test('of a block in which the process also stopped, both times are known', t => {
  const memory = memoryOf({ ...blockOf(10, 400), cpu: 150 })
  const profile = createProfile({ events, memory }, { duration: 470 })
  const findings = findFindings(profile)
  const { parts } = summarizeProfile({ profile, earlier: [], findings })
  t.equal(awayOf(parts), 250)
  t.match(
    findings.map(({ problem }) => problem),
    ['blocked the event loop for 400 ms (150 ms of CPU time)'],
  )
  t.end()
})

t.test('parts, causes and findings of random turns are those that they were', t => {
  const turn = fc.record({ kind: fc.constantFrom(...Object.keys(turns)), duration: fc.integer({ min: 60, max: 400 }) })
  const share = fc.record({
    from: fc.double({ min: 0, max: 1, noNaN: true }),
    to: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 8 }), fc.array(share, { maxLength: 4 }), (given, shares) => {
      let start = 10
      const all = given.map(each => {
        start += each.duration
        return { ...each, start: start - each.duration }
      })
      const duration = start + 10
      const sumOf = (kind: string, least = 0) =>
        all.reduce((sum, each) => sum + (each.kind === kind && each.duration >= least ? each.duration : 0), 0)
      const queries = shares.map(({ from, to }) => ({
        start: Math.round(Math.min(from, to) * duration),
        end: Math.round(Math.max(from, to) * duration),
      }))
      const spans = [
        [null, 'kernel.request', 0, 1000],
        [null, 'kernel.controller_arguments', 1000, 100],
        [null, 'kernel.response', duration * 1000, 0],
      ]
      const blocks = all.flatMap(({ duration, kind, start }) => {
        const [block] = turns[kind] ?? []
        return block === undefined
          ? []
          : [{ start, duration, ...{ cpu: 1, ...block } }].map(each => ({ ...each, cpu: each.cpu * duration }))
      })
      const profile = createProfile(
        {
          events: { dropped: 0, spans },
          queries: { queries: queries.map(each => createQuery(each)), omitted: 0 },
          memory: {
            ...memoryOf(...blocks),
            pauses: { ...pauses, longest: all.filter(({ kind }) => kind === 'collects') },
          },
        },
        { duration },
      )
      const waited = ({ end, start }: { readonly start: number; readonly end: number }) =>
        all.reduce(
          (sum, each) =>
            each.kind === 'waits'
              ? sum
              : sum - Math.max(0, Math.min(end, each.start + each.duration) - Math.max(start, each.start)),
          end - start,
        )
      const findings = findFindings(profile)
      const { parts } = summarizeProfile({ profile, earlier: [], findings: [] })
      const problems = findings.flatMap(({ problem, rule }) => (rule === 'blocked-loop' ? [problem] : []))
      for (const [kind, [, label, claim]] of Object.entries(turns)) {
        if (label !== '') assert.equal((parts.find(part => part.label === label)?.time ?? 0) / 1000, sumOf(kind), label)
        const claimed = claim && problems.flatMap(problem => claim.exec(problem)?.[1] ?? [])
        const blocked = sumOf(kind, 200)
        if (claimed !== undefined) assert.deepEqual(claimed, blocked === 0 ? [] : [formatDuration(blocked)], kind)
      }
      const slow = queries.some(query => waited(query) >= 100)
      const own = readQueries(profile).database.queries.map(workTime)
      assert.deepEqual(own, queries.map(waited))
      assert.equal(
        findings.some(({ rule }) => rule === 'slow-query'),
        slow,
      )
    }),
    { numRuns: provenRuns(300) },
  )
  t.end()
})

/** Computes after what its argument waits for. */
function compute(_before?: unknown): void {
  toil(100)
}

/** Where a handler computes, beside its call in flight. */
const places: Readonly<Record<string, (call: Promise<unknown>) => Promise<unknown>>> = {
  'before its first await': async () => compute(),
  'in a microtask': async call => Promise.all([call, Promise.resolve().then(() => compute())]),
  'after a timer': async () => compute(await sleep(1)),
  'in a timer': () => new Promise(resolve => setTimeout(() => resolve(compute()), 5)),
  'in an immediate': () => new Promise(resolve => setImmediate(() => resolve(compute()))),
  'in a tick': () => new Promise(resolve => process.nextTick(() => resolve(compute()))),
  'after a file': async () => compute(await readFile('package.json')),
  'after the call': async call => compute(await call),
  'before it waits for a timer': async () => sleep(1, compute()),
}

t.test('the block of a handler is recorded before its profile is stored, as its own', async t => {
  // A server of HTTP in this process would be recorded, too, and may block the event loop when it is cold.
  const reply = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nhere'
  const upstream = createSocketServer(socket => socket.once('data', () => socket.end(reply))).listen(0, '127.0.0.1')
  t.teardown(() => upstream.close())
  await once(upstream, 'listening')
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`
  const server = createServer(async ({ url: path = '' }, reply) => {
    const call = fetch(url).then(response => response.text())
    await places[decodeURI(path.split('/')[1] ?? '')]?.(call)
    reply.end(await call)
  })
  const { port, profileOf } = await recordServer(t, server)
  // Other tests of this process have used most of the callbacks that are followed.
  watchMoreCallbacks()
  for (const place of Object.keys(places)) {
    for (const time of ['first', 'second']) {
      const path = `/${encodeURI(place)}/${time}`
      await (await fetch(`http://127.0.0.1:${port}${path}`)).text()
      const profile = await profileOf(path)
      // A busy machine stops the process, too.
      const toils = (profile.collectors.memory?.blocks ?? []).filter(({ cpu }) => cpu > 50)
      t.strictSame([...new Set(toils.map(({ by }) => by))], [profile.summary.token], place)
    }
  }
})

/** Where a program blocks the event loop for 100 ms, and the part and the claim that say so. */
const blocking: Readonly<Record<string, readonly [part: string, claim: RegExp]>> = {
  'after its answer': ['Blocked by this request', /^This request blocked/],
  'in a listener of its answer': ['Blocked by this request', /^This request blocked/],
  'in an interval of its module': [
    'Blocked, cause not known',
    /work that was not recorded\.$|Whose work it was is not known/,
  ],
  'in an interval on which it waits': [
    'Blocked, cause not known',
    /work that was not recorded\.$|Whose work it was is not known/,
  ],
}

t.test('a block belongs to the call in whose context it ran, also after the answer; else to no known one', async t => {
  let waiting = () => {}
  let isComputing = false
  const job = setInterval(() => {
    if (isComputing) toil(250)
    waiting()
  }, 20)
  t.teardown(() => clearInterval(job))
  const server = createServer(async ({ url = '' }, reply) => {
    const place = decodeURI(url.slice(1))
    isComputing = place.includes('interval')
    if (place.endsWith('module')) await sleep(300)
    if (place.endsWith('waits')) await new Promise<void>(resolve => (waiting = resolve))
    isComputing = false
    if (place.includes('listener')) reply.on('finish', () => toil(250))
    reply.end('here')
    if (place.endsWith('after its answer')) toil(250)
  })
  const { port, profileOf } = await recordServer(t, server)
  for (const [place, [label, claim]] of Object.entries(blocking)) {
    const path = `/${encodeURI(place)}`
    await (await fetch(`http://127.0.0.1:${port}${path}`)).text()
    const profile = await profileOf(path)
    const findings = findFindings(profile)
    const [longest] = summarizeProfile({ profile, earlier: [], findings }).parts.filter(
      part => part.label !== 'No CPU time',
    )
    t.equal(longest?.label, label, place)
    t.match(findings.find(({ rule }) => rule === 'blocked-loop')?.problem, claim, place)
  }
})

t.test('of two requests that one timer continues, each has its own block', async t => {
  const server = createServer(async (_message, reply) => {
    await sleep(60)
    toil(100)
    reply.end()
  })
  const { port, profileOf } = await recordServer(t, server)
  const paths = ['/first', '/second']
  await Promise.all(paths.map(async path => (await fetch(`http://127.0.0.1:${port}${path}`)).text()))
  const profiles = await Promise.all(paths.map(path => profileOf(path)))
  const known = new Set(profiles.map(({ summary }) => summary.token))
  const owners = profiles.flatMap(({ collectors }) => (collectors.memory?.blocks ?? []).map(({ by }) => by))
  t.strictSame([...new Set(owners)].sort(), [...known].sort())
  for (const profile of profiles) {
    const { parts } = summarizeProfile({ profile, earlier: [], findings: [] })
    t.match(
      parts.filter(({ time }) => time > 50_000).map(({ label }) => label),
      parts.filter(({ isShared, time }) => time > 50_000 && !isShared).map(({ label }) => label),
      'its block is not that of other requests',
    )
  }
})

/** A collection of all garbage. */
setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

t.test('list, panels, sentence and server-timing have one time of the queries of a request', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/work': async ({ query }) => {
        const [system, ...steps] = String(query.get('steps')).split('-')
        const ask = (time: number) =>
          kernel.app.queries.measure(String(system), `SELECT ${time}`, undefined, () => sleep(time))
        const waits: Promise<unknown>[] = []
        for (const step of steps) {
          if (step === 'query') waits.push(ask(20))
          else if (step === 'wait') await waits.shift()
          else if (step === 'block') toil(60)
          else collect()
        }
        await Promise.all(waits)
        return Response.html('done')
      },
    },
  })
  const step = fc.constantFrom('query', 'query', 'wait', 'block', 'garbage')
  const work = fc.tuple(fc.constantFrom('postgresql', 'sqlite'), fc.array(step, { minLength: 1, maxLength: 6 }))
  for (const [system, steps] of fc.sample(work, { numRuns: 12, seed: 7 })) {
    const target = `/work?steps=${[system, 'query', ...steps].join('-')}`
    const response = await kernel.client.get(target)
    const profile = await kernel.profileOf(response)
    const { covered } = readQueries(profile).database
    const time = formatDuration(covered)
    t.equal(formatDuration(profile.summary.queryTime), time, target)
    t.match(await kernel.show('database', profile), time)
    t.match(await kernel.show('time', profile), `in ${time}`)
    const [, measured] = /db;desc="[^"]*";dur=([\d.]+)/.exec(String(response.headers.get('server-timing'))) ?? []
    // Node reports a collection up to two turns of the event loop later.
    if (!steps.includes('garbage')) t.equal(formatDuration(Number(measured)), time, `${target}: server-timing`)
    const sentence = toPlainText(summarizeProfile({ profile, earlier: [], findings: [] }).sentence)
    const said = /quer(?:y|ies) took ([\d.]+ m?s)/.exec(sentence)?.[1]
    t.equal(said ?? time, time, `${target}: the sentence`)
  }
})
