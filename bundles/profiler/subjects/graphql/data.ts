import * as v from 'valibot'
import { amount, check, count, list, maybe, number, text } from '../../profile/schema.ts'

/** The fields of GraphQL that were resolved. */
export type GraphqlData = v.InferOutput<typeof graphqlSchema>

export const graphqlSchema = v.object({
  /** The fields with a resolver of their own, in the order of their first calls, at most 200: all of their calls. */
  fields: list(
    v.object({
      /** The type and the field: `Book.author`. Those over the limit are one field, `…`. */
      name: text,
      count,
      failed: count,
      /** Milliseconds in which at least one call was not over. */
      time: amount,
      /**
       * These times, in milliseconds since the start of the request: start and duration. Gaps of
       * less than 0.1 ms are left out.
       */
      periods: list(v.tuple([v.number(), v.number()])),
      /** Milliseconds of the longest call that is over. */
      longest: amount,
    }),
  ),
  /** The first 100 calls, and further ones that failed or took long, 50 of each. */
  calls: list(
    v.object({
      /** The index of the field. */
      field: count,
      /** Where in the result: `books.3.author`. Masked. */
      path: text,
      /** Milliseconds since the start of the request. */
      start: number,
      /** Absent if it was not over. */
      end: maybe(check.number),
      hasFailed: maybe(v.literal(true)),
    }),
  ),
  /** How many calls were only counted. */
  omitted: count,
})
