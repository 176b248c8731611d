import { listenTo, subscribeChannels } from '../../lib/channels.ts'
import { isMeasured } from '../measure-sqlite.ts'
import type { WatchServices } from './watch-channels.ts'

/** A message of Node 26 and later, when a statement has ended. */
interface Message {
  /** The statement with its values. */
  readonly sql: string
  readonly database: object & { location?(): string | null }
  /** Nanoseconds, in steps of a millisecond. */
  readonly duration: number
}

/**
 * Records queries of node:sqlite until the returned function is called. Before Node 26 it publishes none. Neither rows nor
 * errors are published: `measureSqlite` reports both, and its queries are not recorded twice.
 */
export function watchNodeSqlite({ queries }: Pick<WatchServices, 'queries'>): () => void {
  return subscribeChannels({
    'sqlite.db.query': listenTo<Message>(({ database, duration, sql }) => {
      if (isMeasured(database)) return
      const server = database.location?.() ?? undefined
      queries.begin({
        system: 'sqlite',
        text: sql,
        server,
        source: 'channel',
        library: 'node:sqlite',
        elapsed: duration / 1e6,
      })?.({})
    }),
  })
}
