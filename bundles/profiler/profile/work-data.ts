import * as v from 'valibot'
import { type LogLevel, logLevels } from '../../../lib/log/logger.ts'
import type { Caller, CodePlace } from '../../../lib/stack/callers.ts'
import { type RecordedException, recordedException } from './code-data.ts'
import { type MessageData, messageSchema } from './content-data.ts'
import {
  amount,
  check,
  indexedList,
  type JsonObject,
  list,
  maybe,
  number,
  oneOf,
  type Schema,
  text,
  texts,
} from './schema.ts'

/** The log messages of a request. */
export interface LoggerData {
  readonly records: readonly LogMessage[]
  /** How many messages, between the first and the last, were not kept. */
  readonly dropped: number
}

/** The channel of the warnings of Node.js about an object with too many listeners of an event. */
export const leakChannel = 'listeners'

/** A log message. */
export interface LogMessage {
  /** Microseconds since the request began. */
  readonly at: number
  readonly level: LogLevel
  readonly channel: string
  /** With its placeholders filled. */
  readonly message: string
  /** The constant sentence, where it had placeholders to fill. */
  readonly template?: string | undefined
  readonly context?: JsonObject | undefined
  /** The errors of its context, by their names in it. */
  readonly exceptions?: Readonly<Record<string, RecordedException>> | undefined
  /**
   * Where it was logged; of warnings and above, except for those about an error, which has a place of its own, and of the message
   * with which the request has logged too much.
   */
  readonly site?: Caller | undefined
  /** Whether the context, and the end of a long message, were left out: there was too much text before it. */
  readonly isCut?: true | undefined
}

/** The templates that were rendered. */
export interface TemplatesData {
  /** In the order in which they began. */
  readonly renders: readonly RenderData[]
  /** How many were only counted because there were too many. */
  readonly omitted: number
  /** Milliseconds that pages waited for sub-requests and globals. */
  readonly waited: number
}

/** A render of one template. Times are in milliseconds, its start from that of the request. */
export interface RenderData {
  readonly name: string
  /** The index of the render that this is a partial of; -1 of a page. */
  readonly parent: number
  readonly start: number
  /** With its partials. */
  readonly duration: number
  /** Of a page: names in its model, at most 20. */
  readonly keys?: readonly string[] | undefined
  /** Whether it threw, or a partial within it. */
  readonly hasFailed?: true | undefined
}

/** The HTTP client calls. */
export interface HttpData {
  /** In the order in which they began. */
  readonly calls: readonly HttpCall[]
  /** How many were only counted because there were too many. */
  readonly omitted: number
}

/**
 * An HTTP client call. Times are in milliseconds from the start of the request; a step that was not reached is absent.
 */
export interface HttpCall {
  /** The API that made the call. */
  readonly client: 'fetch' | 'node:http'
  readonly method: string
  readonly url: string
  readonly start: number
  /** When the call was assigned to a connection. */
  readonly sent?: number | undefined
  /** When all of the call was sent, including the body. */
  readonly uploaded?: number | undefined
  /** When the head of the response was received. */
  readonly head?: number | undefined
  /** When the response ended, or the call failed. */
  readonly end?: number | undefined
  readonly status?: number | undefined
  /** The length of the body as announced, else the bytes that were received for the whole response. */
  readonly bytes?: number | undefined
  /** Whether the bytes were counted on the wire, with the head of the response. */
  readonly isCounted?: true | undefined
  /** Whether neither a signal nor a timeout of it was seen. Of a call of fetch it is recorded in development only. */
  readonly isUnlimited?: true | undefined
  /** Whether its caller has aborted it, also by a timeout. */
  readonly isAborted?: true | undefined
  readonly error?: string | undefined
  /** The innermost function of the application that made the call. */
  readonly caller?: Caller | undefined
  /** The span that the call named as the parent of the work for it (W3C Trace Context). */
  readonly spanId?: string | undefined
  /** The request as it was sent; node:http of Node 20 reports no body. */
  readonly request?: MessageData | undefined
  readonly response?: MessageData | undefined
}

/** Recorded when work continued after the response was sent. */
export interface LateData {
  /** When the response was sent, in milliseconds from the start of the request. */
  readonly since: number
}

const placeEntries = {
  function: maybe(check.text),
  file: maybe(check.text),
  line: maybe(check.number),
  column: maybe(check.number),
  isAwaiting: maybe(v.literal(true)),
}

/** The schema of a place in the code. */
export const codePlace: Schema<CodePlace> = v.object(placeEntries)

/** The schema of a caller. */
export const caller: Schema<Caller> = v.object({
  ...placeEntries,
  callers: maybe(list(codePlace)),
  isIn: maybe(v.literal(true)),
})

/** A message without its level or its text is left out. */
export const loggerSchema: Schema<LoggerData> = v.object({
  records: list(
    v.object({
      at: number,
      level: v.picklist(logLevels),
      channel: text,
      message: check.text,
      template: maybe(check.text),
      context: maybe(check.object),
      exceptions: maybe(v.record(v.string(), recordedException)),
      site: maybe(caller),
      isCut: maybe(v.literal(true)),
    }),
  ),
  dropped: amount,
})

const render: Schema<RenderData> = v.object({
  name: text,
  parent: v.fallback(check.number, -1),
  start: number,
  duration: amount,
  keys: maybe(texts),
  hasFailed: maybe(v.literal(true)),
})

export const templatesSchema: Schema<TemplatesData> = v.object({
  renders: indexedList(render, { name: '', parent: -1, start: 0, duration: 0 }),
  omitted: amount,
  waited: amount,
})

export const httpSchema: Schema<HttpData> = v.object({
  calls: list(
    v.object({
      client: oneOf(['fetch', 'node:http']),
      method: text,
      url: text,
      start: number,
      sent: maybe(check.number),
      uploaded: maybe(check.number),
      head: maybe(check.number),
      end: maybe(check.number),
      status: maybe(check.number),
      bytes: maybe(check.number),
      isCounted: maybe(v.literal(true)),
      isUnlimited: maybe(v.literal(true)),
      isAborted: maybe(v.literal(true)),
      error: maybe(check.text),
      caller: maybe(caller),
      spanId: maybe(check.text),
      request: maybe(messageSchema),
      response: maybe(messageSchema),
    }),
  ),
  omitted: amount,
})

export const lateSchema: Schema<LateData> = v.object({ since: check.number })
