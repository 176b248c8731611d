import { channel } from 'node:diagnostics_channel'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { endAll } from '../../lib/share.ts'
import type { Library, WatchServices } from './library.ts'
import { type SqlQuery, watchPools } from './pools.ts'

/** It reports its queries itself; a patch adds the state of its pools. It is CommonJS also for ES modules. */
export const mysql2: Library = {
  name: 'mysql2',
  reports: 'queries',
  connects: ['mysql2', 'mysql'],
  seenBy: 'channel',
  bundledText: 't add new command when connection is in closed state',
  from: '3.20',
  files: { mysql2: 'lib/connection.js' },
  changes: {
    'mysql2/lib/base/pool.js': pool =>
      void observeMethod(Object(pool).prototype, 'getConnection', pool => void pools.publish(pool)),
  },
  watch: watchMysql2,
}

/** A pool of mysql2, as far as it is used: a later version may have other fields. */
interface Mysql2Pool {
  /** The limit is 0 for a pool without one. */
  readonly config?: { readonly connectionLimit: number }
  readonly _allConnections?: { readonly length: number }
  readonly _freeConnections?: { readonly length: number }
  readonly _connectionQueue?: { readonly length: number }
}

/** Has the pool directly before `mysql2:pool:connect`, whose message does not report its state. */
const pools = channel('sinfonietta:mysql2:pool')

function watchMysql2(services: WatchServices): () => void {
  const place = { system: 'mysql', library: 'mysql2', prefix: 'mysql2' } as const
  let asked: Mysql2Pool = {}
  const stop = subscribeChannels({
    'sinfonietta:mysql2:pool': listenTo<Mysql2Pool>(pool => {
      asked = pool
    }),
  })
  const operations = { query: () => undefined, execute: ({ values }: SqlQuery) => values }
  const stopPools = watchPools(services, place, operations, () => ({
    idle: asked._freeConnections?.length,
    total: asked._allConnections?.length,
    limit: asked.config?.connectionLimit,
    waiting: asked._connectionQueue?.length,
  }))
  return endAll([stop, stopPools])
}
