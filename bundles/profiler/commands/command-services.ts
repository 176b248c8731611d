import type { Logger } from '../../../lib/log/logger.ts'
import type { RouteCollection } from '../../../lib/routing/route.ts'
import type { View } from '../../../lib/view/view.ts'
import type { Assets } from '../assets.ts'
import type { ArmFile } from '../cpu/arm-file.ts'
import type { Inspector } from '../findings/inspector.ts'
import type { ProfilePanel } from '../panels/panel.ts'
import type { Replayer } from '../replay/replayer.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** What commands work with. */
export interface CommandServices {
  readonly storage: ProfileStorage
  /** In the order of the menu. They are loaded when they are asked for first. */
  readonly panels: () => Promise<readonly ProfilePanel[]>
  readonly assets: Assets
  readonly routes: RouteCollection
  /** Tells the servers of the project which request is to be sampled. */
  readonly armFile: ArmFile
  readonly inspector: Inspector
  readonly replayer: Replayer
  /** Makes the application ready for requests, which most commands have no need of. */
  readonly boot: () => void
  readonly view: View
  readonly logger: Logger
}
