import type { Inspector } from '../findings/inspector.ts'
import type { ProfilePanel } from '../panels/panel.ts'
import type { Profiler } from '../recording/profiler.ts'
import type { Replayer } from '../replay/replayer.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** What the tools work with. */
export interface ToolServices {
  readonly storage: ProfileStorage
  readonly profiler: Pick<Profiler, 'whenKept'>
  readonly inspector: Inspector
  /** In the order of the menu. */
  readonly panels: () => readonly ProfilePanel[]
  /** Where agents may replay requests. */
  readonly replayer?: Pick<Replayer, 'replay'> | undefined
}
