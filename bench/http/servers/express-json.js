import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import express from 'express'
import { createFrameworkBundle } from '../../../dist/bundles/framework/framework-bundle.js'
import { FileProfileStorage } from '../../../dist/bundles/profiler/store/file-profile-storage.js'
import { createViewerBundle } from '../../../dist/bundles/profiler/viewer-bundle.js'
import { Kernel } from '../../../dist/kernel/kernel.js'
import { readConfig } from '../../../dist/lib/env/config.js'
import { Settings } from '../../../dist/lib/env/settings.js'
import { createLogger } from '../../../dist/lib/log/create-logger.js'
import { Redactor } from '../../../dist/lib/redact/redactor.js'
import { greeting, host, targets } from '../work.js'

/**
 * A JSON route of Express.
 *
 * @param {string} [feature] `profiled` records every request, as `sinfonietta profile` does
 */
export async function start(feature) {
  if (feature === 'profiled') await recordServers()
  const app = express()
  app.get(targets.json, (_request, response) => {
    response.json(greeting)
  })
  return new Promise(resolve => {
    const server = app.listen(0, host, () => resolve(Number(Object(server.address()).port)))
    // A turn of the other servers may take longer.
    server.keepAliveTimeout = 0
  })
}

/** As `bin/profile.ts`, but for a storage that drops nothing under a load without a pause. */
async function recordServers() {
  const directory = mkdtempSync(path.join(tmpdir(), 'profiles-'))
  process.on('exit', () => rmSync(directory, { recursive: true }))
  const storage = new FileProfileStorage({ directory, onProblem: console.error, queueLength: 1e9 })
  const armFile = path.join(directory, 'armed.json')
  const viewer = createViewerBundle({ storage, armFile, onFirst: () => true, replaySecret: 'of the benchmark' })
  const settings = new Settings({
    variables: { APP_ENV: 'dev', APP_SECRET: 'a secret for the benchmark, of enough characters' },
  })
  const redactor = new Redactor(process.env)
  const logger = createLogger({ level: 'warning', format: 'readable', stream: process.stderr, redactor })
  const bundles = [createFrameworkBundle(), viewer]
  const config = readConfig(settings)
  const { app } = await Kernel.boot({ settings, config, directory, bundles, logger, redactor })
  app.signals.emit('server.listening', { url: `http://${host}:8100` })
}
