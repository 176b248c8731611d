import type { Application } from '../../../kernel/bundle.ts'
import type { SignalMap } from '../../../lib/signals.ts'
import type { Inspector } from '../insight/findings/inspector.ts'
import type { Replayer } from '../insight/replay/replay.ts'
import type { Profiler } from '../record/profiler.ts'
import type { RecordingPolicy } from '../record/recording-policy.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import type { CpuProfiler } from '../subjects/cpu/record.ts'
import type { Assets } from './assets.ts'
import type { EditorLinks } from './editor-links.ts'
import type { ProfilePanel } from './panels/panel.ts'

/** The changed files that cannot be used, and whether the process goes on with an older version of them. */
export type BrokenSources = SignalMap['sources.broken']

/** What answers requests while files have mistakes, as sentences. */
export const sourceStates: Readonly<Record<BrokenSources['served'], string>> = {
  current: 'This page is current, and the types are wrong',
  older: 'This page is older than your files',
  nothing: 'The application does not run',
}

/** The application, with what the profiler adds for its pages and tools. */
export interface ProfilerApplication extends Application {
  readonly profiler: Profiler
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  readonly assets: Assets
  /** Opens the places that the pages name. */
  readonly editor: EditorLinks
  readonly replayer: Replayer
  readonly cpu: CpuProfiler
  /** Applies the rules of findings. Their code is loaded with the first call. */
  readonly inspector: () => Promise<Inspector>
  /** The changed files that have mistakes. */
  readonly brokenSources: () => BrokenSources
  /** The panels in the order of the menu. Their code is loaded with the first call. */
  readonly panels: () => Promise<readonly ProfilePanel[]>
}
