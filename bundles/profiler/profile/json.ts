/** A JSON object of any shape, as an application recorded it. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value from JSON is an object, and not a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Parses text that should be a JSON object; `undefined` when it is not. A byte order mark before it does not matter.
 */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a value is a token: 6 lower-case hexadecimal digits, or 12 in storage that several machines share. */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^(?:[0-9a-f]{6}){1,2}$/.test(value)
}

/** Whether a value is a number whose sums stay finite. */
export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER
}

/** Whether a value is a number (see `isNumber`) that is not negative. */
export function isAmount(value: unknown): value is number {
  return isNumber(value) && value >= 0
}

/** Whether a value is an amount (see `isAmount`) that is whole. */
export function isCount(value: unknown): value is number {
  return isAmount(value) && Number.isInteger(value)
}

/** Whether a value is a list of texts. */
export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}

/** Raised whenever profiles of the version before can no longer be read. */
export const schemaVersion = 1

/** Bytes of the longest profile that is written and read. */
export const sizeLimit: number = 4 * 1024 * 1024
