import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { createFrameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createProfilerBundle } from '../../bundles/profiler/profiler-bundle.ts'
import { seesProfiler } from '../../bundles/profiler/web/routes.ts'
import type { Application, Bundle, SourceProblem } from '../../kernel/bundle.ts'
import { RequestEvent } from '../../kernel/events.ts'
import { Kernel } from '../../kernel/kernel.ts'
import { readConfig } from '../../lib/env/config.ts'
import { Settings } from '../../lib/env/settings.ts'
import { Response } from '../../lib/http/response.ts'
import { createLogger } from '../../lib/log/create-logger.ts'
import { Redactor } from '../../lib/redact/redactor.ts'
import { type ApplicationSettings, readSettings } from '../application/application.ts'
import { createNodeServer } from '../application/create-node-server.ts'
import { type HoldingServer, holdingHeaders, holdingPage } from './holding-page.ts'
import type { Options } from './serve-options.ts'

/**
 * Serves the mistakes of an application that cannot start, to the clients that may see debug output, at
 * each path; others get a page without a reason. The profiles of earlier requests can be read meanwhile.
 */
export async function serveProblems(
  directory: string,
  { environment, host, identity, port, socket }: Options,
  problems: readonly SourceProblem[],
): Promise<HoldingServer> {
  const application = readApplication(directory, environment)
  const bundles = [
    createFrameworkBundle(),
    // Only profiles of the application are of interest.
    createProfilerBundle({ ignoredPaths: ['/'] }),
    holdingBundle,
  ]
  // The requests for this page are not logged: they do not belong to the application.
  const { redactor } = application
  const logger = createLogger({ level: 'critical', format: 'readable', stream: process.stdout, redactor })
  const kernel = await Kernel.boot({ ...application, bundles, logger })
  kernel.app.signals.emit('sources.broken', { problems, served: 'nothing' })
  const server = createNodeServer(kernel.app, { identity })
  await server.listen(host, port, socket)
  return {
    async close() {
      await server.close({ deadline: 200, linger: 100 })
      await kernel.close()
    },
  }
}

/**
 * Reads the settings of the application. If they are the mistake, the settings are those of the
 * process alone: this page must not be open to more clients than the application, so it fails if a
 * file has a setting that closes debug output.
 */
function readApplication(directory: string, environment: string | undefined): ApplicationSettings {
  try {
    const application = readSettings(directory, process.env, environment)
    application.settings.check()
    return application
  } catch (error) {
    if (listSettingFiles(directory).some(mayClose)) throw error
    const secret = { APP_SECRET: randomBytes(32).toString('hex') }
    const variables = { ...secret, ...process.env, ...(environment !== undefined && { APP_ENV: environment }) }
    const settings = new Settings({ variables })
    return { directory, settings, config: readConfig(settings), redactor: new Redactor(variables) }
  }
}

/** Settings with which fewer clients, or none, see debug output. */
const closing =
  /\b(?:DEBUG_KEY|APP_DEBUG|TRUSTED_\w+)\s*=\s*\S|\bAPP_ENV\s*=\s*(?!["']?dev["']?\s*(?:#.*)?$)\S|\bNODE_ENV\s*=\s*\S*production/m

/** Some editors write UTF-16, whose ASCII characters have a NUL beside them. */
function mayClose(file: string): boolean {
  return closing.test(readFileSync(file, 'utf8').replaceAll('\0', ''))
}

function listSettingFiles(directory: string): string[] {
  const names = readdirSync(directory).filter(name => name.startsWith('.env'))
  return names.map(name => path.join(directory, name)).filter(file => statSync(file).isFile())
}

/** Before the router, and after the checks of requests. */
const priority = 48

const holdingBundle: Bundle = {
  name: 'holding',
  isCore: true,
  register({ debugGate, dispatcher, isolated }: Application) {
    dispatcher.on(
      RequestEvent,
      event => {
        const { request } = event
        if (request.parent !== undefined) return
        // The mistakes contain sources: other sites cannot load them, as they cannot load a page of the profiler.
        if (!seesProfiler(request, debugGate)) {
          event.respond(new Response(holdingPage, { status: 503, headers: holdingHeaders }))
        } else if (!isolated.some(test => test(request))) {
          request.attributes.set('_controller', 'broken_sources_controller')
        }
      },
      priority,
    )
  },
}
