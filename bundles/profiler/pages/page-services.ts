import type { Logger } from '../../../lib/log/logger.ts'
import type { View } from '../../../lib/view/view.ts'
import type { FindingBadges } from '../findings/finding-badges.ts'
import type { Inspector } from '../findings/inspector.ts'
import type { ProfilePanel } from '../panels/panel.ts'
import type { Profiler } from '../recording/profiler.ts'
import type { RecordingPolicy } from '../recording/recording-policy.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import type { PageRenderer } from './page-renderer.ts'

/** What the pages work with. */
export interface PageServices {
  readonly profiler: Pick<Profiler, 'whenKept'>
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  readonly pages: PageRenderer
  /** Renders panels. */
  readonly view: View
  readonly logger: Logger
  /** Finds what could be better about a request. It is loaded when it is asked for first. */
  readonly inspector: () => Promise<Inspector>
  /** Tells of it in lists. */
  readonly badges: Pick<FindingBadges, 'find'>
  /** In the order of the menu. They are loaded when they are asked for first. */
  readonly panels: () => Promise<readonly ProfilePanel[]>
}
