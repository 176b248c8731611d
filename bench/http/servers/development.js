import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { tuneGarbageCollector } from '../../../dist/bin/serving/main-process.js'
import { createProfilerBundle } from '../../../dist/bundles/profiler/profiler-bundle.js'
import { FileProfileStorage } from '../../../dist/bundles/profiler/store/file-profile-storage.js'
import { ArmFile } from '../../../dist/bundles/profiler/subjects/cpu/record.js'
import { RequestEvent } from '../../../dist/kernel/events.js'
import { NodeServer } from '../../../dist/kernel/server/node-server.js'
import { setContentLength } from '../../../dist/kernel/server/to-node.js'
import { Request } from '../../../dist/lib/http/request.js'
import { Response } from '../../../dist/lib/http/response.js'
import { TrustedProxies } from '../../../dist/lib/http/trusted-proxies.js'
import { bootKernel } from '../../boot-kernel.js'
import { browserHeaders, greeting, host, targets } from '../work.js'

/**
 * This kernel as bin/serve starts it in development.
 *
 * @param {string} [feature] `profiled` records every request into separate files; `armed` also
 *   waits for a request of an unused route, to sample it; `queries` makes 20 queries for each request, `lines` logs
 *   20 lines, `profiled-queries` and `profiled-lines` also record them; `json` and `profiled-json` have the JSON route
 */
export async function start(feature) {
  const app = await boot(feature)
  const trustedProxies = new TrustedProxies(app.config.trustedProxies)
  const url = await new NodeServer(app, { trustedProxies }).listen(host, 0)
  return Number(new URL(url).port)
}

/**
 * Creates a function that handles some requests for the page to their ends, without HTTP, until their
 * profiles are written. The event loop turns after four of them: profiles are stored in later turns.
 *
 * @param {string} [feature] as of `start`
 */
export async function createRun(feature) {
  const app = await boot(feature)
  app.signals.emit('kernel.booted', undefined)
  const { connection: _, ...headers } = browserHeaders
  return async (/** @type {number} */ requests) => {
    for (let made = 1; made <= requests; made++) {
      const connection = { remoteAddress: '127.0.0.1' }
      const request = new Request({ target: targets.page, headers: { host: 'localhost', ...headers }, connection })
      const response = await app.kernel.handle(request)
      setContentLength(response)
      await app.kernel.terminate(request, response)
      if (made % 4 === 0) await nextTurn()
    }
    // Profiles are stored two turns later.
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    await storage?.flush()
  }
}

/** The storage of this process, if it records. @type {FileProfileStorage | undefined} */
let storage

/** @param {string} [feature] */
async function boot(feature) {
  process.setSourceMapsEnabled(true)
  tuneGarbageCollector()
  const isProfiled = feature === 'armed' || feature?.startsWith('profiled')
  const bundles = [queriesBundle, linesBundle, jsonBundle].filter(({ name }) => feature?.endsWith(name))
  if (isProfiled) bundles.push(createProfiler(feature === 'armed'))
  return (await bootKernel(bundles, 'dev')).app
}

const rows = [{ id: 1 }, { id: 2 }, { id: 3 }]
const statement =
  'SELECT p.id, p.name, p.price FROM products p JOIN categories c ON c.id = p.category_id WHERE c.slug = $1 LIMIT $2'

/**
 * Makes 20 queries for each request, whose database costs nothing: what is measured is the report alone.
 *
 * @type {import('../../../dist/kernel/bundle.js').Bundle}
 */
const queriesBundle = {
  name: 'queries',
  register({ dispatcher, queries }) {
    dispatcher.on(RequestEvent, function makeQueries() {
      for (let query = 0; query < 20; query++) queries.measure('postgresql', statement, ['tea', query], () => rows)
    })
  },
}

/** @type {import('../../../dist/kernel/bundle.js').Bundle} */
const linesBundle = {
  name: 'lines',
  register({ dispatcher, logger }) {
    dispatcher.on(RequestEvent, function logLines() {
      for (let line = 0; line < 20; line++)
        logger.info('The price of {product} is {price}.', { product: 'tea', price: line })
    })
  },
}

/** @type {import('../../../dist/kernel/bundle.js').Bundle} */
const jsonBundle = {
  name: 'json',
  register({ routes }) {
    routes.get('json', targets.json, () => Response.json(greeting))
  },
}

/** @param {boolean} isArmed */
function createProfiler(isArmed) {
  const directory = mkdtempSync(path.join(tmpdir(), 'profiles-'))
  process.on('exit', () => rmSync(directory, { recursive: true }))
  // Load without a pause is no use of a development server: nothing may be dropped here, or the
  // cost would look smaller.
  storage = new FileProfileStorage({ directory, onProblem: console.error, queueLength: 1e9 })
  const armFile = path.join(directory, 'armed.json')
  // Longer than any benchmark: it is not to be disarmed on the way.
  if (isArmed) new ArmFile(armFile).write({ target: { route: 'partnership' }, until: Date.now() + 86_400_000 })
  return createProfilerBundle({ storage, armFile })
}
