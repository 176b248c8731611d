import type { Logger } from '../../../lib/log/logger.ts'
import type { View } from '../../../lib/view/view.ts'
import type { Assets } from '../assets.ts'
import type { ProfilePanel } from '../panels/panel.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** What commands work with. */
export interface CommandServices {
  readonly storage: ProfileStorage
  /** In the order of the menu. They are loaded when they are asked for first. */
  readonly panels: () => Promise<readonly ProfilePanel[]>
  readonly assets: Assets
  readonly view: View
  readonly logger: Logger
}
