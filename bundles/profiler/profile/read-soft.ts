/** Takes a value of a profile for an object; for an empty one when it is none. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/** Takes a value of a profile for a list; for an empty one when it is none. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Takes a value of a profile for a list of objects; what is none becomes empty. */
export function asObjects(value: unknown): Readonly<Record<string, unknown>>[] {
  return asList(value).map(asObject)
}

/** Takes a value of a profile for a number; for 0, or what else is given, when it is none. */
export function asNumber(value: unknown, otherwise = 0): number {
  return asOptionalNumber(value) ?? otherwise
}

/** Takes a value of a profile for a number that may be missing. */
export function asOptionalNumber(value: unknown): number | undefined {
  // Sums of larger ones would soon be infinite.
  return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? value : undefined
}

/** Takes a value of a profile for a text; for an empty one when it is none. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Takes a value of a profile for a list of texts. */
export function asTexts(value: unknown): string[] {
  return asList(value).map(asText)
}
