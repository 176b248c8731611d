import path from 'node:path'
import type { Bundle, Foundation } from '../../kernel/bundle.ts'
import { checkOptions } from '../../lib/errors/arguments.ts'
import { loadRedis } from '../../lib/redis/redis-connection.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'
import { recordMounts } from './any-server/mounts.ts'
import { createBundle } from './create-bundle.ts'
import type { RecordingOptions } from './record/recording-policy.ts'
import { FileProfileStorage } from './store/file-profile-storage.ts'
import type { CreateProfileStorage, ProfileStorage } from './store/profile-storage.ts'
import { createRedisProfileStorage } from './store/redis/redis-profile-storage.ts'
import type { CpuSampler } from './subjects/cpu/cpu-sampler.ts'
import { profilerSettings } from './web/settings.ts'

/** The options of the profiler: the requests of which it makes profiles, and the place of the profiles. */
export interface ProfilerOptions extends RecordingOptions {
  /** By default the Redis of `PROFILER_URL`, or files in `var/profiler`. */
  readonly storage?: ProfileStorage | CreateProfileStorage
  /** The file by which all processes of the project learn which request to sample; by default `var/cpu-profile.json`. */
  readonly armFile?: string
  /** Names whose values are shown although they look secret, such as `email`. Also in the log. */
  readonly revealedNames?: readonly string[]
  /** By default a sampler that discards compiled code, so that all names are exact. */
  readonly cpuSampler?: CpuSampler
}

const optionShape: ShapeOf<ProfilerOptions> = {
  storage: true,
  armFile: 'string',
  revealedNames: ['string'],
  cpuSampler: 'object',
  ignoredPaths: ['string'],
  onlyExceptions: 'boolean',
}

/** Creates the bundle that stores a profile of every request and shows it at `/_profiler`; for development only. */
export function createProfilerBundle(options: ProfilerOptions = {}): Bundle {
  checkOptions('createProfilerBundle()', options, optionShape)
  const bundle = createBundle({ ...options, storage: options.storage ?? createStorage })
  let stopMounts: (() => void) | undefined
  return {
    ...bundle,
    async register(app) {
      // The mistake of a missing package ends the start.
      if (app.settings.of(profilerSettings).PROFILER_URL !== undefined) await loadRedis()
      await bundle.register(app)
      stopMounts = recordMounts()
    },
    async close() {
      stopMounts?.()
      await bundle.close?.()
    },
  }
}

function createStorage(foundation: Foundation): ProfileStorage {
  const { directory, logger, settings } = foundation
  const { PROFILER_URL: url } = settings.of(profilerSettings)
  if (url !== undefined) return createRedisProfileStorage({ url })(foundation)
  return new FileProfileStorage({
    directory: path.join(directory, 'var/profiler'),
    onProblem: (message, error) => logger.warning(message, { exception: error }),
  })
}
