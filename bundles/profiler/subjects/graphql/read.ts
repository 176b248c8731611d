import { oncePerProfile } from '../../profile/profile.ts'
import type { GraphqlData } from './data.ts'

/** A call of a resolver. Times are in milliseconds since the request began. */
export interface ResolvedField extends Omit<GraphqlData['calls'][number], 'field'> {
  readonly index: number
  /** The type and the field. */
  readonly field: string
}

/** A path without the positions in lists: `books.*.author`. */
export function pathPatternOf(path: string): string {
  return path.replace(/\.\d+(?=\.|$)/g, '.*')
}

/** Reads the fields of a profile. */
export const readFields = oncePerProfile(({ graphql }) => {
  const { calls = [], fields = [], omitted = 0 } = graphql ?? {}
  return {
    fields,
    omitted,
    calls: calls
      .map((call, index): ResolvedField => ({ ...call, index, field: fields[call.field]?.name ?? '' }))
      .toSorted((a, b) => a.start - b.start),
  }
})
