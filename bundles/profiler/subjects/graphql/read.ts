import { oncePerProfile, type Profile } from '../../profile/profile.ts'
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

/** The fields that were resolved; none in a request without GraphQL. */
export interface StoredFields extends Pick<GraphqlData, 'fields' | 'omitted'> {
  /** In the order in which they began. */
  readonly calls: readonly ResolvedField[]
}

/** Reads the fields of a profile. */
export const readFields: (profile: Profile) => StoredFields = oncePerProfile(({ graphql }) => {
  const { calls = [], fields = [], omitted = 0 } = graphql ?? {}
  return {
    fields,
    omitted,
    calls: calls
      .map((call, index) => ({ ...call, index, field: fields[call.field]?.name ?? '' }))
      .toSorted((a, b) => a.start - b.start),
  }
})
