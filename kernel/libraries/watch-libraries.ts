import { Callers } from '../../lib/stack/callers.ts'
import type { Foundation } from '../bundle.ts'
import { watchMongodb } from './watch-mongodb.ts'
import { watchMysql2, watchPg } from './watch-pools.ts'
import { watchPostgres } from './watch-postgres.ts'
import { watchIoredis, watchNodeRedis } from './watch-redis.ts'
import { watchSqlite } from './watch-sqlite.ts'

/** Reports the queries of libraries that publish them by diagnostics channels, until the returned function is called. */
export function watchLibraries({
  context,
  directory,
  queries,
}: Pick<Foundation, 'context' | 'directory' | 'queries'>): () => void {
  const watches = [watchMysql2, watchPg, watchPostgres, watchMongodb, watchIoredis, watchNodeRedis, watchSqlite]
  // The callers of a library mostly have the same depth, so each has its own search.
  const stops = watches.map(watch => watch({ queries, context, callers: new Callers(directory) }))
  return () => {
    for (const stop of stops) stop()
  }
}
