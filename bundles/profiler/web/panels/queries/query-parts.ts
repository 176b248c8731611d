import { formatValue } from '../../../profile/format-value.ts'
import type { StoredQuery } from '../../../profile/queries.ts'

/** A parameter of a query as a page shows it. */
export interface ParameterView {
  readonly name: string
  /** Masked. */
  readonly value: string
}

/** The connection of a query, such as `postgresql shop on localhost:5432`. */
export function connectionOf({ namespace, server, system }: StoredQuery): string {
  const name = namespace === undefined ? system : `${system} ${namespace}`
  return server === undefined ? name : `${name} on ${server}`
}

/** The parameters of a query. */
export function toParameters({ parameters = [] }: StoredQuery): ParameterView[] {
  // A parameter without a value is damaged.
  return parameters.map(([name, value]) => ({ name, value: value === undefined ? '' : formatValue(value) }))
}

/** The code of the error of a query; empty if the message begins with it, as that of Redis does. */
export function codeOf({ code = '', error }: StoredQuery): string {
  return error.startsWith(code) ? '' : code
}
