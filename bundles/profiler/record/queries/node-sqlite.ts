import { isMeasured } from '../../../../kernel/measure-sqlite.ts'
import { listenTo, subscribeChannels } from '../subscribe-channels.ts'
import type { WatchServices } from './watch-channels.ts'

/** A message of Node 26 and later, when a statement has ended. */
interface Message {
  /** With its values. */
  readonly sql: string
  readonly database: object & { location?(): string | null }
  /** Nanoseconds, in steps of a millisecond. */
  readonly duration: number
}

/**
 * Records queries of node:sqlite until the returned function is called. Before Node 26 it publishes none. Neither rows nor
 * errors are published: `measureSqlite` reports both, and its queries are not recorded twice.
 */
export function watchNodeSqlite({ recorder }: Pick<WatchServices, 'recorder'>): () => void {
  return subscribeChannels({
    'sqlite.db.query': listenTo<Message>(({ database, duration, sql }) => {
      if (isMeasured(database)) return
      const server = database.location?.() ?? undefined
      recorder.begin({ system: 'sqlite', text: sql, server, source: 'channel', elapsed: duration / 1e6 })?.({})
    }),
  })
}
