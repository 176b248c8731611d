import { type Flashes, pick, SessionContents } from './session-contents.ts'
import { lockSession } from './session-lock.ts'
import type { SessionData, SessionStore } from './session-store.ts'

/** A session between its first use and its end, as one request sees it. Times are milliseconds since 1970. */
export interface SessionState {
  /** Under which it will be saved. */
  id: string
  /** Under which the store has it. */
  stored: string | undefined
  /** What it was before it was invalidated: to be destroyed. */
  ended: string | undefined
  createdAt: number
  lastUsedAt: number
  contents: SessionContents
}

/** Where, how long and by which clock sessions are kept. */
export interface SessionPlace {
  readonly store: SessionStore
  /** Seconds. */
  readonly lifetime: number
  readonly now: () => number
}

/** The state of a session that is in no store. */
export function beginState(id: string, now: number): SessionState {
  return { id, stored: undefined, ended: undefined, createdAt: now, lastUsedAt: now, contents: new SessionContents() }
}

/** The state of a session that the store has. */
export function resumeState(id: string, data: SessionData): SessionState {
  const { createdAt, lastUsedAt } = data
  return { id, stored: id, ended: undefined, createdAt, lastUsedAt, contents: new SessionContents(data) }
}

/** Whether it goes on under another id than the one it is stored under. */
export function isMoved({ id, stored }: SessionState): boolean {
  return stored !== undefined && stored !== id
}

/** Removes the flashes of the type, or all, from the store as it is by now, and hands them over. */
export async function takeStoredFlashes(
  state: SessionState,
  type: string | undefined,
  place: SessionPlace,
): Promise<Flashes> {
  const { stored, contents } = state
  if (stored === undefined || !contents.hasStoredFlashes(type)) return new Map()
  return lockSession(place.store, stored, async () => {
    const data = await place.store.read(stored)
    const flashes = new Map(Object.entries(data?.flashes ?? {}))
    const taken = pick(flashes, type)
    if (data === undefined || taken.size === 0) return taken
    const kept = [...flashes].filter(([key]) => !taken.has(key))
    await place.store.write(stored, { ...data, flashes: Object.fromEntries(kept) }, place.lifetime)
    return taken
  })
}

/** Destroys what was invalidated; says whether there was anything. */
export async function destroyEnded(state: SessionState, { store }: SessionPlace): Promise<boolean> {
  const { ended } = state
  if (ended === undefined) return false
  await lockSession(store, ended, () => store.destroy(ended))
  state.ended = undefined
  return true
}

/**
 * Writes the session if it must be; says whether the client must be told, of a new id or to keep its cookie longer. A
 * session that was only read is written again once a minute, or tenth of its lifetime, has passed since the last use.
 */
export async function writeState(state: SessionState, place: SessionPlace): Promise<boolean> {
  const { store, lifetime } = place
  const { id, stored, contents, createdAt } = state
  const now = place.now()
  const write = async (base: SessionData | undefined, lastUsedAt: number): Promise<void> => {
    const data = { createdAt: base?.createdAt ?? createdAt, lastUsedAt, ...contents.applyTo(base) }
    await store.write(id, data, lifetime)
    Object.assign(state, resumeState(id, data))
  }

  if (stored === undefined) {
    if (contents.isEmpty) return false
    await write(undefined, now)
    return true
  }

  const hasNewId = isMoved(state)
  const isRenewed = hasNewId || now - state.lastUsedAt >= Math.min(60_000, lifetime * 100)
  if (!contents.isChanged && !isRenewed) return false
  return lockSession(store, stored, async () => {
    const base = await store.read(stored)
    // Ended by another request. What was done under a new id counts nevertheless: a login form sent twice, say.
    if (base === undefined && !(hasNewId && contents.isChanged)) return false
    await write(base, isRenewed || base === undefined ? now : base.lastUsedAt)
    if (hasNewId) await store.destroy(stored)
    return isRenewed
  })
}
