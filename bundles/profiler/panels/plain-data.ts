/** The value as an object; an empty one for anything else. What was on the disk may have any shape. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  // Checked to be an object; whatever its properties are, they are unknown.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** The value as a list; an empty one for anything else. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The value as a text; an empty one for anything else. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The value as a number; 0 for anything else, also for what is not finite. */
export function asNumber(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
