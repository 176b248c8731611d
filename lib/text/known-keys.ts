import { isPlainObject } from './describe-value.ts'
import { suggestNames } from './nearest-names.ts'

/** The keys of all properties of a type. The compiler refuses a list that lacks a key, or has one too many. */
export type KeysOf<type> = { readonly [key in keyof type]-?: true }

/**
 * The keys of an object that are not known, each with the nearest known keys or else all of them: `"method"; the nearest is
 * "methods"`. Node runs TypeScript without a check of types, so a mistyped key would have no effect. An object of a class may have
 * keys of its own.
 */
export function listUnknownKeys<type>(value: object, keys: KeysOf<type>, prefix = ''): readonly string[] {
  let unknown: string[] | undefined
  for (const key in value) {
    if (key in keys) continue
    if (!isPlainObject(value)) break
    unknown ??= []
    unknown.push(`"${prefix}${key}"${describeKeys(key, Object.keys(keys))}`)
  }
  return unknown ?? none
}

const none: readonly string[] = []

function describeKeys(mistyped: string, known: readonly string[]): string {
  return suggestNames(mistyped, known) || `: use ${known.join(', ')}`
}
