import * as v from 'valibot'
import type { Caller } from '../../../lib/stack/callers.ts'
import { amount, check, flag, list, maybe, number, type Schema, section, text, texts, textsByName } from './schema.ts'
import { caller } from './work-data.ts'

/** What the whole process used during a main request, until its response was sent. Times are in milliseconds. */
export interface MemoryData {
  readonly wall: number
  readonly cpu: { readonly user: number; readonly system: number }
  readonly loop: { readonly active: number; readonly idle: number }
  /** In bytes. */
  readonly heap: { readonly before: number; readonly after: number; readonly limit: number }
  /** The most bytes that the process ever held (resident set size). */
  readonly peak?: number | undefined
  /** Other main requests: at the start, and at most. */
  readonly requests: { readonly others: number; readonly most: number }
  readonly pauses: GcPauses
  readonly blocks: readonly LoopBlock[]
  /** Synchronous calls for files and processes that took 50 ms or more, also those of sub-requests. Only in development. */
  readonly syncCalls?: readonly SyncCallData[] | undefined
}

/** A synchronous call for files or processes. Times are in milliseconds, the start from that of the main request. */
export interface SyncCallData {
  /** Such as `fs.readFileSync`. */
  readonly name: string
  readonly start: number
  readonly duration: number
  readonly caller?: Caller | undefined
}

/** The runs of the garbage collector during a request. */
export interface GcPauses {
  readonly count: number
  /** Milliseconds of all of them. */
  readonly total: number
  /** The first 20. */
  readonly first: readonly GcPause[]
}

/** A run of the garbage collector, in milliseconds from the start of the request. */
export interface GcPause {
  readonly start: number
  readonly duration: number
  /** `minor` frees short-lived objects, `major` all that can be freed, `incremental` is a step of a major one. */
  readonly kind?: string | undefined
}

/** A time in which the event loop was blocked. Times are in milliseconds, the start from that of the request. */
export interface LoopBlock {
  readonly start: number
  readonly duration: number
  /** How much of it was CPU time of the process. */
  readonly cpu: number
  /** The token of the main request that was at work; empty when it is not known. */
  readonly by: string
  /** Whether the whole block is work of the request `by`. */
  readonly isOwn: boolean
  /** Whether no other recorded request was in flight. Work that is not recorded may still have blocked. */
  readonly isAlone: boolean
}

/** The settings that the application was started with. */
export interface ConfigProcessData {
  readonly environment: string
  readonly isDebug: boolean
  readonly logLevel: string
  readonly bundles: readonly string[]
  readonly hosts: readonly string[]
  readonly trustedProxies: readonly string[]
  readonly debugAllowedIps: readonly string[]
  /** All settings. */
  readonly settings: readonly StoredSetting[]
}

/** A setting of the kernel or of a bundle. */
export interface StoredSetting {
  readonly name: string
  /** The value in force. Secrets are masked. */
  readonly value: string
  /** The bundle that declares the setting, or `kernel`. */
  readonly bundle: string
  /** `environment`, the name of a `.env` file, or `default`. */
  readonly from: string
}

/** An edit of files that came into use: by a restart, or because templates were read again. */
export interface FileEdit {
  /** When it came into use, in milliseconds since 1970. */
  readonly time: number
  /** At most 50, relative to the application. */
  readonly files: readonly string[]
}

/** The environment of the process. */
export interface ServerProcessData {
  /** Values by name, masked except for those that may be shown. */
  readonly environment: Readonly<Record<string, string>>
  /** The names of those that come from `.env` files. */
  readonly dotenvNames: readonly string[]
  /** The latest edits of files under the development server, the oldest first, also those before the process. */
  readonly edits: readonly FileEdit[]
  readonly process: Readonly<Record<string, string | number>>
  readonly versions: Readonly<Record<string, string>>
}

export const memorySchema: Schema<MemoryData> = v.object({
  wall: amount,
  cpu: section({ user: amount, system: amount }),
  loop: section({ active: amount, idle: amount }),
  heap: section({ before: amount, after: amount, limit: amount }),
  peak: maybe(check.amount),
  requests: section({ others: amount, most: amount }),
  pauses: section({
    count: amount,
    total: amount,
    first: list(v.object({ start: number, duration: amount, kind: maybe(check.text) })),
  }),
  blocks: list(v.object({ start: number, duration: amount, cpu: amount, by: text, isOwn: flag, isAlone: flag })),
  syncCalls: maybe(list(v.object({ name: text, start: number, duration: amount, caller: maybe(caller) }))),
})

export const configProcessSchema: Schema<ConfigProcessData> = v.object({
  environment: text,
  isDebug: flag,
  logLevel: text,
  bundles: texts,
  hosts: texts,
  trustedProxies: texts,
  debugAllowedIps: texts,
  settings: list(v.object({ name: text, value: text, bundle: text, from: text })),
})

export const serverProcessSchema: Schema<ServerProcessData> = v.object({
  environment: textsByName,
  dotenvNames: texts,
  edits: list(v.object({ time: amount, files: texts })),
  process: v.fallback(v.record(v.string(), v.fallback(v.union([v.string(), v.number()]), '')), {}),
  versions: textsByName,
})
