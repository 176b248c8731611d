import type { SessionData } from './session-store.ts'

/** The text under which a store keeps a session; it expires `lifetime` seconds after `now`. */
export function stringifyRecord(data: SessionData, lifetime: number, now: number): string {
  return JSON.stringify({ expiresAt: now + lifetime * 1000, ...data })
}

/** Reads that text; undefined when it is damaged, no record at all, or has expired. */
export function parseRecord(text: string, now: number): SessionData | undefined {
  const record = parseJson(text)
  if (!isObject(record) || !isTime(record.expiresAt) || record.expiresAt <= now) return undefined
  const { createdAt, lastUsedAt, attributes, flashes } = record
  if (!isTime(createdAt) || !isTime(lastUsedAt) || !isObject(attributes) || !isLists(flashes)) return undefined
  return { createdAt, lastUsedAt, attributes, flashes }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTime(value: unknown): value is number {
  return typeof value === 'number'
}

function isLists(value: unknown): value is Record<string, unknown[]> {
  return isObject(value) && Object.values(value).every(Array.isArray)
}
