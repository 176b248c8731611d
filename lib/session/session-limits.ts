/** How much a store keeps. */
export interface SessionLimits {
  /** Sessions. With one more, those that expire first are removed. */
  readonly sessions: number
  /** Bytes of all sessions together, as they are written. */
  readonly bytes: number
  /** Bytes of one session, as it is written. A larger one is refused. */
  readonly sessionBytes: number
}

/** The limits of a store by default. */
export const defaultSessionLimits: SessionLimits = {
  sessions: 100_000,
  bytes: 256 * 1024 ** 2,
  sessionBytes: 64 * 1024,
}

/** A session as a store keeps it, with what decides how long it stays. */
export interface KeptSession {
  /** Unique within the store. */
  readonly name: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** Bytes. */
  readonly size: number
}

/**
 * Divides sessions into those that stay within the limits and those that are too many: the ones that expire first, and
 * of equal ones those whose names come first.
 */
export function divideSessions(
  sessions: readonly KeptSession[],
  limits: SessionLimits,
): { readonly kept: readonly KeptSession[]; readonly excess: readonly KeptSession[] } {
  let bytes = sessions.reduce((sum, { size }) => sum + size, 0)
  if (sessions.length <= limits.sessions && bytes <= limits.bytes) return { kept: sessions, excess: [] }
  const ordered = sessions.toSorted((a, b) => a.expiresAt - b.expiresAt || (a.name < b.name ? -1 : 1))
  let count = Math.max(0, ordered.length - limits.sessions)
  for (const { size } of ordered.slice(0, count)) bytes -= size
  for (const { size } of ordered.slice(count)) {
    if (bytes <= limits.bytes) break
    bytes -= size
    count++
  }
  return { kept: ordered.slice(count), excess: ordered.slice(0, count) }
}
