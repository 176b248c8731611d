import * as v from 'valibot'
import { caller } from '../../profile/code.ts'
import { messageSchema } from '../../profile/content.ts'
import { check, count, list, maybe, moreWorkSchema, number, oneOf, text } from '../../profile/schema.ts'

/** The HTTP client calls. */
type HttpData = v.InferOutput<typeof httpSchema>

/**
 * An HTTP client call. Times are in milliseconds from the start of the request; a step that was not reached is absent.
 */
export type HttpCall = HttpData['calls'][number]

export const httpSchema = v.object({
  /** In the order in which they began. */
  calls: list(
    v.object({
      /** The API that made the call. */
      client: oneOf(['fetch', 'node:http', 'node:http2']),
      method: text,
      url: text,
      /** The time of the call. */
      start: number,
      /** When the call was assigned to a connection. */
      sent: maybe(check.number),
      /** When all of the call was sent, including the body. */
      uploaded: maybe(check.number),
      /** When the head of the response was received. */
      head: maybe(check.number),
      /** When the response ended, or the call failed. */
      end: maybe(check.number),
      status: maybe(check.count),
      /** The length of the body as announced, else the bytes that were received for the whole response. */
      bytes: maybe(check.number),
      /** Whether the bytes were counted on the wire, with the head of the response. */
      isCounted: maybe(v.literal(true)),
      /**
       * Whether neither a signal nor a timeout of it was seen. Of a call of fetch it is recorded in development only.
       */
      isUnlimited: maybe(v.literal(true)),
      /** Whether its caller has aborted it, also by a timeout. */
      isAborted: maybe(v.literal(true)),
      error: maybe(check.text),
      /** The innermost function of the application that made the call. */
      caller: maybe(caller),
      /** The field of GraphQL whose resolver made it: `Book.author`. */
      field: maybe(check.text),
      /** The span that the call named as the parent of the work for it (W3C Trace Context). */
      spanId: maybe(check.text),
      /** The request as it was sent. */
      request: maybe(messageSchema),
      response: maybe(messageSchema),
    }),
  ),
  /** How many were only counted because there were too many. */
  omitted: count,
  /** Their times. */
  more: maybe(moreWorkSchema),
})
