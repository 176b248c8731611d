/** Parses text that should be a JSON object; `undefined` when it is not. A byte order mark before it is overlooked. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a value that JSON gave is an object, and no list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
