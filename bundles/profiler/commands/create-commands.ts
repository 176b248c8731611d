import type { ConsoleCommand } from '../../../kernel/console-command.ts'
import type { Inspector } from '../findings/inspector.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { createProfilerCompare } from './profiler-compare.ts'
import { createProfilerList } from './profiler-list.ts'
import { createProfilerPurge } from './profiler-purge.ts'
import { createProfilerReplay, type ReplayServices } from './profiler-replay.ts'
import { createProfilerShow } from './profiler-show.ts'
import { createProfilerStats } from './profiler-stats.ts'

/** Creates the commands of the profiler. */
export function createCommands(
  storage: ProfileStorage,
  inspector: Inspector,
  replaying: Omit<ReplayServices, 'storage'>,
): ConsoleCommand[] {
  return [
    createProfilerCompare(storage),
    createProfilerList(storage, inspector),
    createProfilerPurge(storage),
    createProfilerReplay({ ...replaying, storage }),
    createProfilerShow(storage, inspector),
    createProfilerStats(storage),
  ]
}
