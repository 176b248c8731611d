import type { SessionStore } from './session-store.ts'

/** Runs the task once the earlier ones of this session, in this process, are over; they may have failed. */
export function lockSession<result>(store: SessionStore, id: string, task: () => Promise<result>): Promise<result> {
  const locks = locksOf(store)
  const result = (locks.get(id) ?? Promise.resolve()).then(task)
  const over: Promise<void> = result.then(ignore, ignore).then(() => {
    if (locks.get(id) === over) locks.delete(id)
  })
  locks.set(id, over)
  return result
}

/** By store, and not by the request's Session: overlapping requests have nothing else in common. */
const locksByStore = new WeakMap<SessionStore, Map<string, Promise<void>>>()

function locksOf(store: SessionStore): Map<string, Promise<void>> {
  const known = locksByStore.get(store)
  if (known !== undefined) return known
  const locks = new Map<string, Promise<void>>()
  locksByStore.set(store, locks)
  return locks
}

function ignore(): void {}
