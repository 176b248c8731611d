import { countRows } from '../../kernel/contracts/queries.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Caller } from '../../lib/stack/callers.ts'
import { createCallerSearch } from '../../lib/stack/callers.ts'
import { type PostgresQuery, postgresPlaceOf } from './open-postgres.ts'
import { listenToOperations, type WatchServices } from './watch.ts'

/** Where a query of postgres.js was created. */
interface Creation {
  readonly request: Request
  readonly caller: Caller | undefined
}

/**
 * Records queries of postgres.js, whose channels `openLibraryChannels` adds, until the returned function is called. A query
 * belongs to the request that has created it; the library's own question for the types of a database belongs to none.
 */
export function watchPostgres({ callers, context, queries }: WatchServices): () => void {
  const creations = new WeakMap<object, Creation>()
  const search = createCallerSearch(callers, 'sinfonietta:postgres:create')
  return subscribeChannels({
    'sinfonietta:postgres:create': listenTo<object>(query => {
      const { current: request } = context
      if (request !== undefined) creations.set(query, { request, caller: search() })
    }),
    ...listenToOperations<{ readonly query: PostgresQuery }>(
      'sinfonietta:postgres:query',
      ({ query }) => {
        const creation = creations.get(query)
        // A connection runs its own questions itself.
        if (creation === undefined || query.handler.name === 'execute') return undefined
        const { caller, request } = creation
        const { database: namespace, server } = postgresPlaceOf(query) ?? {}
        return queries.begin({
          system: 'postgresql',
          text: query.string ?? query.strings.join('?'),
          parameters: query.parameters,
          namespace,
          server,
          source: 'channel',
          library: 'postgres',
          request,
          findCaller: () => caller,
        })
      },
      result => Object(result).count ?? countRows(result),
    ),
  })
}
