import type { Foundation } from '../../kernel/bundle.ts'
import type { Queries } from '../../kernel/contracts/queries.ts'
import { Callers } from '../../lib/stack/callers.ts'
import { watchMongodb } from './watch-mongodb.ts'
import { watchMysql2, watchPg } from './watch-pools.ts'
import { watchPostgres } from './watch-postgres.ts'
import { watchIoredis, watchNodeRedis } from './watch-redis.ts'
import { watchSqlite } from './watch-sqlite.ts'

/** The watches that run, and how many have asked for them. */
interface Watches {
  users: number
  readonly stops: readonly (() => void)[]
}

/** A kernel has one watch of its libraries, also if several bundles ask for it. */
const watched = new WeakMap<Queries, Watches>()

/** Reports the queries of libraries that publish them by diagnostics channels, until each returned function was called. */
export function watchLibraries({
  context,
  directory,
  queries,
}: Pick<Foundation, 'context' | 'directory' | 'queries'>): () => void {
  const watches = watched.get(queries) ?? {
    users: 0,
    // The callers of a library mostly have the same depth, so each has its own search.
    stops: [watchMysql2, watchPg, watchPostgres, watchMongodb, watchIoredis, watchNodeRedis, watchSqlite].map(watch =>
      watch({ queries, context, callers: new Callers(directory) }),
    ),
  }
  watched.set(queries, watches)
  watches.users++
  return () => {
    watches.users--
    if (watches.users > 0) return
    watched.delete(queries)
    for (const stop of watches.stops) stop()
  }
}
