/** Reads a property of anything; `undefined` where there is none, or where its getter throws. */
export function readProperty(value: unknown, name: string): unknown {
  try {
    return (value as Record<string, unknown> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}
