/** The attributes of a span that have the name of the database system, by OpenTelemetry's conventions: the newer one first. */
export const systemAttributes = ['db.system.name', 'db.system'] as const

/** The attributes of a span that have its statement: the newer one first. */
export const statementAttributes = ['db.query.text', 'db.statement'] as const

const valueAttributes = /^(?:db\.(?:query|operation)\.parameter\.|db\.(?:postgresql\.values|connection_string|user)$)/

/** Whether an attribute has a value of a statement, or a user: its name does not say whether it is a secret. */
export function isValueAttribute(name: string): boolean {
  return valueAttributes.test(name)
}

/** Whether an attribute has a statement, which may contain values. */
export function isStatementAttribute(name: string): boolean {
  return (statementAttributes as readonly string[]).includes(name)
}

const caches: ReadonlySet<string> = new Set(['redis', 'valkey', 'memcached'])

/** Whether a system is a cache: its statements are commands with a key. */
export function isCache(system: string): boolean {
  return caches.has(system.toLowerCase())
}

const likePostgres: ReadonlySet<string> = new Set(['postgresql', 'cockroachdb', 'aws.redshift', 'redshift'])

/** Whether statements of a system are written as for PostgreSQL. `redshift` is an older name of OpenTelemetry. */
export function isLikePostgres(system: string): boolean {
  return likePostgres.has(system.toLowerCase())
}
