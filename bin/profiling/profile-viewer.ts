import { createFrameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import type { ServerRecorder } from '../../bundles/profiler/server-recorder.ts'
import { warnBy } from '../../bundles/profiler/store/base-profile-storage.ts'
import { UnitedStorage } from '../../bundles/profiler/store/united-storage.ts'
import { createViewerBundle } from '../../bundles/profiler/viewer-bundle.ts'
import { isForOwnUser } from '../../kernel/debug/debug-gate.ts'
import { Kernel } from '../../kernel/kernel.ts'
import type { NodeServer } from '../../kernel/server/node-server.ts'
import { readConfig } from '../../lib/env/config.ts'
import { Settings } from '../../lib/env/settings.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { createNodeServer } from '../application/create-node-server.ts'
import { openProgram, type Program, watchPrograms } from '../application/program-list.ts'

/** A recorder whose profiles are shown, and the services of its process. */
export interface ViewerServices {
  readonly recorder: ServerRecorder
  /** The variables that are settings of the viewer. */
  readonly variables: Readonly<Record<string, string>>
  /** The directory of the application, of which no file is read but sources. */
  readonly directory: string
  /** The directory in the place of the application's, for its templates and public files. */
  readonly files: string
  /** The other programs whose profiles are shown; by default those of the list, if `isListed`. */
  readonly others?: readonly Program[]
  readonly isListed: boolean
  readonly logger: Logger
  readonly redactor: Redactor
}

/** The options of the kernel that shows the profiles. */
export function createViewerOptions({ isListed, others, recorder, variables, ...services }: ViewerServices) {
  const onProblem = warnBy(services.logger)
  const opened = others?.map(program => openProgram(program, onProblem))
  const settings = new Settings({ variables })
  const config = readConfig(settings)
  // Clients of others see only what this program has recorded.
  const watches = opened === undefined && isListed && isForOwnUser(config)
  const listOthers = watches ? watchPrograms(services, onProblem) : () => opened ?? []
  const { folder: directory = services.directory, machine, program } = recorder.profiler.origin
  const own = { directory, names: [program], ...(opened !== undefined && { viewerMachine: machine }) }
  const storage = new UnitedStorage(recorder.storage, listOthers, own)
  const bundles = [createFrameworkBundle(), createViewerBundle(recorder, storage)]
  return { ...services, settings, config, bundles }
}

/** Boots the kernel, and returns what answers requests for its pages. @throws the errors of `Kernel.boot` */
export async function bootViewer(services: ViewerServices): Promise<NodeServer['receive']> {
  const { app } = await Kernel.boot(createViewerOptions(services))
  return createNodeServer(app).receive
}
