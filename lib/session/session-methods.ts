/** The methods of a session that use it. */
export type SessionMethod =
  | 'get'
  | 'set'
  | 'has'
  | 'delete'
  | 'update'
  | 'take'
  | 'all'
  | 'clear'
  | 'flash'
  | 'flashes'
  | 'peekFlashes'
  | 'metadata'
  | 'regenerate'
  | 'invalidate'

/** The methods that change nothing. */
export const readingMethods: ReadonlySet<string> = new Set<SessionMethod>([
  'get',
  'has',
  'all',
  'peekFlashes',
  'metadata',
])
