import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { serveApplication } from '#bin/serving/main-process.ts'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { Response } from '#lib/http/response.ts'
import { packageDirectory } from '#lib/package.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'

// A program: the site of the soak test, started like bin/serve, with routes that stream, and a
// route that reports resource usage.

/** What the process uses, garbage aside. */
export interface Usage {
  readonly heap: number
  readonly resident: number
  readonly descriptors: number
  /** Milliseconds that the event loop was late since the last time: the 99th percentile, and the longest. */
  readonly delay: { readonly usual: number; readonly longest: number }
}

const delays = monitorEventLoopDelay({ resolution: 10 })
delays.enable()

function readUsage(): Usage {
  // Weak references and finalizers need more than one round.
  for (let round = 0; round < 3; round++) global.gc?.()
  const delay = { usual: delays.percentile(99) / 1e6, longest: delays.max / 1e6 }
  delays.reset()
  const { heapUsed: heap, rss: resident } = process.memoryUsage()
  return { heap, resident, descriptors: readdirSync('/proc/self/fd').length, delay }
}

async function* tick(): AsyncGenerator<string> {
  for (let count = 0; ; count++) {
    yield `data: ${count}\n\n`
    await wait(20)
  }
}

const chunk = 'x'.repeat(65_536)

const handlers = createHandlerBundle({
  '/usage': () => Response.json(readUsage(), { headers: { 'cache-control': 'no-store' } }),
  '/ticks': () => Response.stream(Readable.from(tick()), { headers: { 'content-type': 'text/event-stream' } }),
  '/much': () => Response.stream(Readable.from(Array.from({ length: 32 }, () => chunk))),
  '/own': async ({ query }) => {
    await wait(1)
    return Response.text(String(query.get('id')))
  },
})

/** Fewer records than usual: their number is to be at its limit soon. */
function createProfiler(): Bundle {
  const directory = mkdtempSync(path.join(tmpdir(), 'soak-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const storage = new FileProfileStorage({ directory, onProblem: () => undefined, limits: { count: 200 } })
  return createProfilerBundle({ storage, ignoredPaths: ['/usage'] })
}

await serveApplication(packageDirectory, ['--port=0'], async ({ environment }) => {
  const bundles = [createFrameworkBundle(), siteBundle, probeBundle, handlers]
  return environment === 'dev' ? [...bundles, createProfiler()] : bundles
})
process.exit()
