import { SESSION_TOO_LARGE } from './errors.ts'
import type { KeptSession } from './session-limits.ts'
import type { SessionData } from './session-store.ts'

/**
 * The text as which a store keeps a session; it expires `lifetime` seconds after `now`.
 * @throws SESSION_TOO_LARGE when it has more bytes than the limit
 */
export function stringifyRecord(data: SessionData, lifetime: number, now: number, limit: number): string {
  const text = JSON.stringify({ expiresAt: now + lifetime * 1000, ...data })
  const size = Buffer.byteLength(text)
  if (size > limit) throw new SESSION_TOO_LARGE([size, limit])
  return text
}

/** Reads that text; undefined when it is damaged, no record at all, or has expired. */
export function parseRecord(text: string, now: number): SessionData | undefined {
  return parseStored(text, now)?.data
}

/** What a sweep needs to know of that text; undefined as for {@link parseRecord}. */
export function describeRecord(name: string, text: string, now: number): KeptSession | undefined {
  const stored = parseStored(text, now)
  return stored && { name, expiresAt: stored.expiresAt, size: Buffer.byteLength(text) }
}

function parseStored(text: string, now: number): { expiresAt: number; data: SessionData } | undefined {
  const record = parseJson(text)
  if (!isObject(record) || !isTime(record.expiresAt) || record.expiresAt <= now) return undefined
  const { expiresAt, createdAt, lastUsedAt, attributes, flashes } = record
  if (!isTime(createdAt) || !isTime(lastUsedAt) || !isObject(attributes) || !isLists(flashes)) return undefined
  return { expiresAt, data: { createdAt, lastUsedAt, attributes, flashes } }
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
