import assert from 'node:assert'
import { existsSync, writeFileSync } from 'node:fs'
import { FileSessionStore } from '#lib/session/file-session-store.ts'
import { RedisSessionStore } from '#lib/session/redis-session-store.ts'
import { Session } from '#lib/session/session.ts'
import type { SessionStore } from '#lib/session/session-store.ts'
import { createRecorder } from './recording-logger.ts'

/** Where several processes store the same sessions. */
export type SessionPlace = { readonly directory: string } | { readonly url: string; readonly prefix: string }

/** What a request does with the session. */
export interface SessionRequest {
  readonly method: 'update' | 'take' | 'set' | 'flash' | 'flashes' | 'invalidate'
  readonly name: string
}

/** Requests of one session, which a process runs at once. */
export interface SessionWork {
  readonly place: SessionPlace
  readonly id: string
  readonly requests: readonly SessionRequest[]
  /**
   * A file that this process writes when all of its requests have begun to change the session, and
   * that of the other process.
   */
  readonly begun: readonly [own: string, other: string]
}

/** Long enough for a test. */
export const times = { lifetime: 3600, idleTime: 3600 }

/** Opens the store of a place. */
export function openSessionStore(place: SessionPlace): SessionStore {
  const { logger } = createRecorder()
  if ('url' in place) return new RedisSessionStore({ ...place, logger })
  return new FileSessionStore({ ...place, warn: message => logger.warning(message) })
}

/**
 * Runs the requests, each with a session of its own. Returns their results. An update that is the
 * first change ends when the requests of the other process have begun, too: so all changes overlap.
 */
export async function runRequests({ begun, id, place, requests }: SessionWork): Promise<readonly unknown[]> {
  const [own, other] = begun
  const store = openSessionStore(place)
  const sessions = requests.map(() => new Session({ store, id, times }))
  // All of them have read the session before it is changed.
  await Promise.all(sessions.map(session => session.all()))
  const results = sessions.map(async (session, at) => {
    const result = await run(session, requests[at] as SessionRequest, other)
    await session.save()
    return result ?? null
  })
  writeFileSync(own, '')
  return Promise.all(results).finally(() => store.close?.())
}

function run(session: Session, { method, name }: SessionRequest, other: string): Promise<unknown> {
  if (method === 'update') {
    return session.update(name, count => {
      waitForFile(other)
      return Number(count ?? 0) + 1
    })
  }
  if (method === 'set') return session.set(name, true)
  if (method === 'flash') return session.flash('notice', name)
  if (method === 'flashes') return session.flashes('notice')
  return method === 'take' ? session.take(name) : session.invalidate()
}

/** Waits within a change, which is synchronous. */
function waitForFile(file: string): void {
  const end = performance.now() + 30_000
  while (!existsSync(file)) {
    assert(performance.now() < end, `The other process has not written ${file}.`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
  }
}

if (process.argv[1] === import.meta.filename) {
  process.on('message', async (work: SessionWork) => process.send?.(await runRequests(work)))
}
