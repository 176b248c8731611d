import { createFrameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import type { ServerRecorder } from '../../bundles/profiler/server-recorder.ts'
import { UnitedStorage } from '../../bundles/profiler/store/united-storage.ts'
import { createViewerBundle } from '../../bundles/profiler/viewer-bundle.ts'
import { Kernel } from '../../kernel/kernel.ts'
import type { NodeServer } from '../../kernel/server/node-server.ts'
import { readConfig } from '../../lib/env/config.ts'
import { Settings } from '../../lib/env/settings.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { createNodeServer } from '../application/create-node-server.ts'
import { watchPrograms } from './program-list.ts'

/** A recorder whose profiles are shown, and the services of its process. */
export interface ViewerServices {
  readonly recorder: ServerRecorder
  /** The variables that are settings of the viewer. */
  readonly variables: Readonly<Record<string, string>>
  /** The directory of the application, of which no file is read but sources. */
  readonly directory: string
  /** The directory in the place of the application's, for its templates and public files. */
  readonly files: string
  /** Whether the profiles of other programs are shown, too. */
  readonly isListed: boolean
  readonly logger: Logger
  readonly redactor: Redactor
}

/** The options of the kernel that shows the profiles. */
export function createViewerOptions({ isListed, recorder, variables, ...services }: ViewerServices) {
  const onProblem = (message: string, exception: unknown) => services.logger.warning(message, { exception })
  const storage = new UnitedStorage(recorder.storage, isListed ? watchPrograms(services, onProblem) : undefined)
  const settings = new Settings({ variables })
  const bundles = [createFrameworkBundle(), createViewerBundle(recorder, storage)]
  return { ...services, settings, config: readConfig(settings), bundles }
}

/** Boots the kernel, and returns what answers requests for its pages. @throws the errors of `Kernel.boot` */
export async function bootViewer(services: ViewerServices): Promise<NodeServer['receive']> {
  const { app } = await Kernel.boot(createViewerOptions(services))
  return createNodeServer(app).receive
}
