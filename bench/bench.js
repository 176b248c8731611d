import { existsSync } from 'node:fs'
import { loadavg } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { Child } from './http/child.js'
import { peersLeftOut } from './http/peers.js'
import { toGoalTable, toMarkdown } from './report.js'

const help = `Usage: npm run bench -- [options]

  --only <claims>      some of: page, json, not-found, post-json, post-large, access-log, request-context,
                       download, upload, events, latency, connection-memory, request-memory, first-request, tracing, dispatcher,
                       router, profiler, recording, profiler-memory, cpu-profile, profile-search, profile-append, profile-bytes, redis-search,
                       redis-bytes, page-weights,
                       panel-times, worker-cost, worker-shares, dump, gate, memory, console, start-up, save, query-cost,
                       query-page, any-server, recording-bytes, recording-memory, profile-load
                       (comma-separated);
                       http is the first three, pages the two about pages, workers the two about workers; goals are those
                       with the goals of speed, streams those of streams, connections and memory
  --rounds <number>    default 10
  --requests <number>  in a round, for each server; default 25000
  --busy               beside a process that fights with the servers for the caches of the processor
  --quick              3 rounds of 2000: shows that it works, and nothing else
`

/** @type {Readonly<Record<string, () => Promise<import('./report.js').Claim>>>} */
const claims = {
  page: async () => (await import('./claims/http.js')).page,
  json: async () => (await import('./claims/http.js')).json,
  'not-found': async () => (await import('./claims/http.js')).notFound,
  'post-json': async () => (await import('./claims/http.js')).postJson,
  'post-large': async () => (await import('./claims/http.js')).postLarge,
  'access-log': async () => (await import('./claims/http.js')).accessLog,
  'request-context': async () => (await import('./claims/http.js')).requestContext,
  download: async () => (await import('./claims/http.js')).download,
  upload: async () => (await import('./claims/http.js')).upload,
  events: async () => (await import('./claims/connections.js')).events,
  latency: async () => (await import('./claims/connections.js')).latency,
  'connection-memory': async () => (await import('./claims/connections.js')).connectionMemory,
  'request-memory': async () => (await import('./claims/connections.js')).requestMemory,
  'first-request': async () => (await import('./claims/first-request.js')).firstRequest,
  tracing: async () => (await import('./claims/tracing.js')).tracing,
  dispatcher: async () => (await import('./claims/dispatcher.js')).dispatcher,
  router: async () => (await import('./claims/router.js')).router,
  profiler: async () => (await import('./claims/profiler.js')).profiler,
  recording: async () => (await import('./claims/profiler.js')).recording,
  'profiler-memory': async () => (await import('./claims/profiler.js')).profilerMemory,
  'cpu-profile': async () => (await import('./claims/cpu-profile.js')).cpuProfile,
  'profile-search': async () => (await import('./claims/profile-store.js')).profileSearch,
  'profile-append': async () => (await import('./claims/profile-store.js')).profileAppend,
  'profile-bytes': async () => (await import('./claims/profile-store.js')).profileBytes,
  'redis-search': async () => (await import('./claims/redis-profiles.js')).redisSearch,
  'redis-bytes': async () => (await import('./claims/redis-profiles.js')).redisBytes,
  'page-weights': async () => (await import('./claims/pages.js')).pageWeights,
  'panel-times': async () => (await import('./claims/pages.js')).panelTimes,
  'worker-cost': async () => (await import('./claims/workers.js')).workerCost,
  'worker-shares': async () => (await import('./claims/workers.js')).workerShares,
  dump: async () => (await import('./claims/dump.js')).dumps,
  gate: async () => (await import('./claims/gate.js')).gate,
  memory: async () => (await import('./claims/memory.js')).memory,
  console: async () => (await import('./claims/console.js')).consoleCommands,
  'start-up': async () => (await import('./claims/start-up.js')).startUp,
  save: async () => (await import('./claims/save.js')).save,
  'query-cost': async () => (await import('./claims/queries.js')).queryCost,
  'query-page': async () => (await import('./claims/queries.js')).queryPage,
  'any-server': async () => (await import('./claims/any-server.js')).anyServer,
  'recording-bytes': async () => (await import('./claims/any-server.js')).recordingBytes,
  'profile-load': async () => (await import('./claims/profile-load.js')).profileLoad,
  'recording-memory': async () => (await import('./claims/any-server.js')).recordingMemory,
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(claims).join(',') },
    rounds: { type: 'string' },
    requests: { type: 'string' },
    busy: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const names = values.only
  .replace(/\bhttp\b/, 'page,json,not-found')
  .replace(/\bgoals\b/, 'json,page,not-found,post-json,post-large,access-log,first-request,recording,query-page')
  .replace(/\bstreams\b/, 'download,upload,events,latency,connection-memory,request-memory,worker-cost')
  .replace(/\bpages\b/, 'page-weights,panel-times')
  .replace(/\bworkers\b/, 'worker-cost,worker-shares')
  .split(',')
const options = {
  rounds: Number(values.rounds ?? (values.quick ? 3 : 10)),
  requests: Number(values.requests ?? (values.quick ? 2_000 : 25_000)),
  // After about 10,000 requests the JIT compiler has done its work.
  warmUp: values.quick ? 1_000 : 15_000,
}

if (values.help) console.log(help)
else if (!existsSync(path.join(import.meta.dirname, '../dist/kernel/kernel.js')))
  fail('Compile first: npx tsc -b tests in the folder above.')
else if (!names.every(name => Object.hasOwn(claims, name))) fail(help)
else await run()

async function run() {
  const busy = values.busy ? new Child(path.join(import.meta.dirname, 'http/busy.js')) : undefined
  await busy?.receive()
  const place = busy === undefined ? '' : 'beside a busy process; '
  console.log(
    `${options.rounds} rounds of ${options.requests} requests; Node ${process.version}; ${place}${describeLoad()}\n`,
  )
  for (const { name, fromNode } of peersLeftOut) console.log(`${name} is left out: it needs Node.js ${fromNode}.\n`)
  const results = []
  for (const name of names) {
    const claim = await claims[name]?.()
    if (claim === undefined) continue
    const start = performance.now()
    const measured = await claim.measure(options)
    const seconds = ((performance.now() - start) / 1000).toFixed(0)
    console.log(`${toMarkdown(claim, measured)}\n\nMeasured in ${seconds} s.\n`)
    results.push({ claim, measured })
  }
  if (results.length > 1) console.log(`### Goals\n\n${toGoalTable(results)}\n`)
  await busy?.end()
  console.log(describeLoad())
}

function describeLoad() {
  return `load average ${loadavg()[0]?.toFixed(1)}`
}

/** @param {string} reason */
function fail(reason) {
  console.error(reason)
  process.exitCode = 64
}
