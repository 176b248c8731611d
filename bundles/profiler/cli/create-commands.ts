import type { ConsoleCommand } from '../../../kernel/console-command.ts'
import type { CommandServices } from './find-profile.ts'
import { createProfilerCompare } from './profiler-compare.ts'
import { createProfilerCpu } from './profiler-cpu.ts'
import { createProfilerExplain } from './profiler-explain.ts'
import { createProfilerExport } from './profiler-export.ts'
import { createProfilerList } from './profiler-list.ts'
import { createProfilerPurge } from './profiler-purge.ts'
import { createProfilerReplay } from './profiler-replay.ts'
import { createProfilerShow } from './profiler-show.ts'
import { createProfilerStats } from './profiler-stats.ts'
import { createProfilerVerify } from './profiler-verify.ts'

/** Creates the commands of the profiler. */
export function createCommands(services: CommandServices): ConsoleCommand[] {
  const { inspector, storage } = services
  return [
    createProfilerCompare(storage),
    createProfilerCpu(services),
    createProfilerExplain(services),
    createProfilerExport(services),
    createProfilerList(storage, inspector),
    createProfilerPurge(storage),
    createProfilerReplay(services),
    createProfilerShow(services),
    createProfilerStats(storage),
    createProfilerVerify(services),
  ]
}
