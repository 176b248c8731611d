import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import express from 'express'
import { ServerRecorder } from '../../../dist/bundles/profiler/server-recorder.js'
import { FileProfileStorage } from '../../../dist/bundles/profiler/store/file-profile-storage.js'
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
  if (feature === 'profiled') recordServers()
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

/** As `bin/profiling/profile.ts`, but for a storage that drops nothing under a load without a pause. */
function recordServers() {
  const directory = mkdtempSync(path.join(tmpdir(), 'profiles-'))
  process.on('exit', () => rmSync(directory, { recursive: true }))
  const storage = new FileProfileStorage({ directory, onProblem: console.error, queueLength: 1e9 })
  const armFile = path.join(directory, 'armed.json')
  const settings = new Settings({
    variables: { APP_ENV: 'dev', APP_SECRET: 'a secret for the benchmark, of enough characters' },
  })
  const redactor = new Redactor(process.env)
  const logger = createLogger({ level: 'warning', format: 'readable', stream: process.stderr, redactor })
  const config = readConfig(settings)
  const services = { settings, config, directory, logger, redactor, storage, armFile, replaySecret: 'of the benchmark' }
  new ServerRecorder(services).start({ viewer: `http://${host}:8100`, onFirst: () => true })
}
