import { Callers } from '../../lib/stack/callers.ts'
import type { Foundation } from '../bundle.ts'
import { watchMysql2 } from './mysql2.ts'
import { watchIoredis, watchNodeRedis } from './redis.ts'
import { watchNodeSqlite } from './sqlite.ts'

/** Reports the queries of libraries that publish them by diagnostics channels, until the returned function is called. */
export function watchLibraries({
  context,
  directory,
  queries,
}: Pick<Foundation, 'context' | 'directory' | 'queries'>): () => void {
  const watches = [watchMysql2, watchIoredis, watchNodeRedis, watchNodeSqlite]
  // The callers of a library mostly have the same depth, so each has its own search.
  const stops = watches.map(watch => watch({ queries, context, callers: new Callers(directory) }))
  return () => {
    for (const stop of stops) stop()
  }
}
