import type { Inspector } from '../../insight/findings/inspector.ts'
import type { Replayer } from '../../insight/replay/replayer.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { ProfilePanel } from '../../web/panels/panel.ts'

/** What the tools work with. */
export interface ToolServices {
  readonly storage: ProfileStorage
  readonly profiler: Pick<Profiler, 'whenWritten'>
  readonly inspector: Inspector
  /** In the order of the menu. */
  readonly panels: () => readonly ProfilePanel[]
  /** Where agents may replay requests. */
  readonly replayer?: Pick<Replayer, 'replay'> | undefined
}
