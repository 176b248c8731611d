/** What a store keeps of a session: JSON values only. Times are milliseconds since 1970. */
export interface SessionData {
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** Messages by type, in the order in which they were added. */
  readonly flashes: Readonly<Record<string, readonly unknown[]>>
}

/** Keeps sessions. An id may be anything that a client sent. @throws SESSION_STORE_FAILED with the cause */
export interface SessionStore {
  /** The session of this id, unless it is unknown, expired or damaged. */
  read(id: string): Promise<SessionData | undefined>

  /**
   * Keeps a copy for `lifetime` seconds from now, or less when there is no room. Only ids that the server drew are ever
   * written. @throws SESSION_TOO_LARGE when one session is larger than the store takes
   */
  write(id: string, data: SessionData, lifetime: number): Promise<void>

  /** Forgets the session; nothing happens when there is none. */
  destroy(id: string): Promise<void>

  /** Removes what has expired, what is over the limits, and what is left of writes that failed; says how much that was. */
  sweep(): Promise<number>
}
