import type { ProfilePanel } from '../panels/panel.ts'
import type { Profiler } from '../recording/profiler.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** What the tools work with. */
export interface ToolServices {
  readonly storage: ProfileStorage
  readonly profiler: Pick<Profiler, 'whenKept'>
  /** In the order of the menu. */
  readonly panels: () => readonly ProfilePanel[]
}
