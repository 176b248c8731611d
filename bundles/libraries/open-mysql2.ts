import { channel } from 'node:diagnostics_channel'
import { observeMethod } from '../../lib/observe-calls.ts'
import type { FileChanges } from './publish.ts'

/** A pool of mysql2, as far as it is used: a later version may have other fields. */
export interface Mysql2Pool {
  /** The limit is 0 for a pool without one. */
  readonly config?: { readonly connectionLimit: number }
  readonly _allConnections?: { readonly length: number }
  readonly _freeConnections?: { readonly length: number }
  readonly _connectionQueue?: { readonly length: number }
}

/** Has the pool directly before `mysql2:pool:connect`, whose message does not report its state. */
const pools = channel('sinfonietta:mysql2:pool')

/** mysql2 is CommonJS also for ES modules. */
export const mysql2Files: FileChanges = {
  'mysql2/lib/base/pool.js': pool =>
    void observeMethod(Object(pool).prototype, 'getConnection', pool => void pools.publish(pool)),
}
