import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { tuneGarbageCollector } from '../../../dist/bin/garbage-collector.js'
import { createProfilerBundle } from '../../../dist/bundles/profiler/profiler-bundle.js'
import { ArmFile } from '../../../dist/bundles/profiler/record/cpu/arming.js'
import { FileProfileStorage } from '../../../dist/bundles/profiler/store/file-profile-storage.js'
import { NodeServer } from '../../../dist/kernel/server/node-server.js'
import { TrustedProxies } from '../../../dist/lib/http/trusted-proxies.js'
import { bootKernel } from '../../boot-kernel.js'
import { host } from '../work.js'

/**
 * This kernel as bin/serve starts it in development.
 *
 * @param {string} [feature] `profiled` records every request into separate files; `armed` also waits for a request of an
 *   unused route, to sample it
 */
export async function start(feature) {
  process.setSourceMapsEnabled(true)
  tuneGarbageCollector()
  const { app } = await bootKernel(feature === undefined ? [] : [createProfiler(feature === 'armed')], 'dev')
  const trustedProxies = new TrustedProxies(app.config.trustedProxies)
  const url = await new NodeServer(app, { trustedProxies }).listen(host, 0)
  return Number(new URL(url).port)
}

/** @param {boolean} isArmed */
function createProfiler(isArmed) {
  const directory = mkdtempSync(path.join(tmpdir(), 'profiles-'))
  process.on('exit', () => rmSync(directory, { recursive: true }))
  // Load without a pause is no use of a development server: nothing may be dropped here, or the cost would look smaller.
  const storage = new FileProfileStorage({ directory, onProblem: console.error, queueLength: 1e9 })
  const armFile = path.join(directory, 'armed.json')
  // Longer than any benchmark: it is not to be disarmed on the way.
  if (isArmed) new ArmFile(armFile).write({ target: { route: 'partnership' }, until: Date.now() + 86_400_000 })
  return createProfilerBundle({ storage, armFile })
}
