import { once } from 'node:events'
import { RedisSessionStore } from '#lib/session/redis-session-store.ts'
import type { SessionData } from '#lib/session/session-store.ts'
import { createRecorder } from './recording-logger.ts'

/* c8 ignore start -- only where there is a Redis */
/** What a process does with the sessions `kept` and `ended`, all at once. */
export interface SessionWork {
  readonly url: string
  readonly prefix: string
  /** Each increases the counter of this name in both sessions. */
  readonly names: readonly string[]
  /** Before the change of this index the session `ended` is destroyed; -1 for never. */
  readonly destroyAt: number
}

/** The names of the counters whose change was stored in `kept`, and how many changes were made again with newer data. */
export interface SessionOutcome {
  readonly changed: readonly string[]
  readonly repeated: number
}

/** Does the work, after the connection is there and `start` has resolved. */
export async function changeSessions(work: SessionWork, start?: () => Promise<unknown>): Promise<SessionOutcome> {
  const { logger } = createRecorder()
  const store = new RedisSessionStore({ url: work.url, prefix: work.prefix, logger })
  await store.read('kept')
  await start?.()
  let calls = 0
  const changed = await Promise.all(
    work.names.map(async (name, index) => {
      const add = (stored: SessionData): SessionData => {
        const { [name]: before = 0 } = stored.attributes
        return { ...stored, attributes: { ...stored.attributes, [name]: Number(before) + 1 } }
      }
      const increase = (stored: SessionData): SessionData => {
        calls++
        return add(stored)
      }
      const [kept] = await Promise.all([
        store.update('kept', increase, 'kept'),
        index === work.destroyAt ? store.destroy('ended') : store.update('ended', add, 'ended'),
      ])
      return kept === undefined ? [] : [name]
    }),
  )
  store.close()
  return { changed: changed.flat(), repeated: calls - work.names.length }
}

// A test runs this file with the work as its argument: it writes a line when it is ready, and starts with the first input.
if (process.argv[1] === import.meta.filename) {
  const outcome = await changeSessions(JSON.parse(String(process.argv[2])), () => {
    process.stdout.write('ready\n')
    return once(process.stdin, 'data')
  })
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
  process.stdin.destroy()
}
/* c8 ignore stop */
