import { type FileSystem, nodeFileSystem } from './file-system.ts'
import type { StoreLimits } from './segment-directory.ts'
import type { SegmentSize } from './segment-writer.ts'

/** Where profiles are stored, and how many. */
export interface FileProfileStorageOptions {
  /** Created with the first profile, for this user only. */
  readonly directory: string
  /** Called with each kind of problem at most once a minute. */
  readonly onProblem: (message: string, error: unknown) => void
  /** 200 MB, 10,000 profiles and 48 hours by default. */
  readonly limits?: Partial<StoreLimits>
  /** Bytes of a full segment; a twentieth of the limit by default. */
  readonly segmentBytes?: number
  /** Milliseconds until a segment is full; a twentieth of the limit by default. */
  readonly segmentAge?: number
  /** Characters of profiles that are not written yet; 16 million by default. */
  readonly queueLength?: number
  /** Milliseconds since 1970. */
  readonly clock?: () => number
  readonly fileSystem?: FileSystem
}

/** The options with their defaults. */
export interface StoreOptions
  extends Pick<Required<FileProfileStorageOptions>, 'clock' | 'directory' | 'fileSystem' | 'queueLength'> {
  readonly limits: StoreLimits
  readonly size: SegmentSize
}

/** The default limits of a store. */
export const defaultLimits: StoreLimits = { bytes: 200_000_000, count: 10_000, age: 48 * 3_600_000 }

/** About this many full segments reach a limit. Retention removes whole segments. */
const segmentsInLimit = 20

/** Fills in the defaults. */
export function readOptions(options: FileProfileStorageOptions): StoreOptions {
  const { clock = Date.now, directory, fileSystem = nodeFileSystem, queueLength = 16_000_000 } = options
  const limits = { ...defaultLimits, ...options.limits }
  const size = {
    bytes: options.segmentBytes ?? limits.bytes / segmentsInLimit,
    profiles: Math.max(1, Math.floor(limits.count / segmentsInLimit)),
    age: options.segmentAge ?? limits.age / segmentsInLimit,
  }
  return { clock, directory, fileSystem, limits, queueLength, size }
}
