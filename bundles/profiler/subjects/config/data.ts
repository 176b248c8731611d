import * as v from 'valibot'
import { amount, flag, list, maybe, text, texts, textsByName } from '../../profile/schema.ts'

/** The settings that the application was started with. */
export type ConfigProcessData = v.InferOutput<typeof configProcessSchema>

/** An edit of files that came into use: by a restart, or because templates were read again. */
export type FileEdit = ServerProcessData['edits'][number]

/** The environment of the process. */
export type ServerProcessData = v.InferOutput<typeof serverProcessSchema>

export const configProcessSchema = v.object({
  environment: text,
  isDebug: flag,
  logLevel: text,
  bundles: texts,
  /** Whether the application is a program of its own, which has no `bin/console`. */
  isOneProgram: maybe(v.literal(true)),
  hosts: texts,
  trustedProxies: texts,
  debugAllowedIps: texts,
  /** All settings. */
  settings: list(
    v.object({
      name: text,
      /** The value in force. Secrets are masked. */
      value: text,
      /** The bundle that declares the setting, or `kernel`. */
      bundle: text,
      /** `environment`, the name of a `.env` file, or `default`. */
      from: text,
    }),
  ),
})

export const serverProcessSchema = v.object({
  /** Values by name, masked except for those that may be shown. */
  environment: textsByName,
  /** The names of those that come from `.env` files. */
  dotenvNames: texts,
  /** The latest edits of files, the oldest first, also those before the process. */
  edits: list(
    v.object({
      /** When it came into use, in milliseconds since 1970. */
      time: amount,
      /** At most 50, relative to the application. */
      files: texts,
    }),
  ),
  process: v.fallback(v.record(v.string(), v.fallback(v.union([v.string(), v.number()]), '')), {}),
  versions: textsByName,
})
