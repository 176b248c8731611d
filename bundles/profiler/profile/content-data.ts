import * as v from 'valibot'
import { amountOrNull, check, maybe, type Pairs, pairs, type Schema, text } from './schema.ts'

/** The content of a message as it is stored: masked, and within bounds. */
export interface ContentData {
  /** The media type; empty when none was sent. */
  readonly type: string
  /** Bytes before compression; of a request, those that were read, else the announced length. `null`: not known. */
  readonly length: number | null
  /** The fields of a form, in their order. */
  readonly form?: Pairs | undefined
  /** The value of JSON, in a list of its own: it may be `null`. */
  readonly json?: readonly [unknown] | undefined
  /** Other text, such as HTML. */
  readonly text?: string | undefined
  /** Whether `text` is only the beginning. */
  readonly isCut?: true | undefined
  /** The first 32 hexadecimal digits of the SHA-256 of content that is not stored as a whole. */
  readonly digest?: string | undefined
  /** Why the content is not stored. */
  readonly note?: string | undefined
}

/** The head and the content of a request or a response of an HTTP client call. */
export interface MessageData {
  readonly headers: Pairs
  readonly content?: ContentData | undefined
}

/** The fields of the schema of a content. */
export const contentEntries: {
  readonly [Name in keyof ContentData]-?: Schema<ContentData[Name]>
} = {
  type: text,
  length: amountOrNull,
  form: maybe(pairs),
  json: maybe(v.tuple([v.unknown()])),
  text: maybe(check.text),
  isCut: maybe(v.literal(true)),
  digest: maybe<string>(v.pipe(v.string(), v.regex(/^[\da-f]{32}$/))),
  note: maybe(check.text),
}

/** The schema of a message of an HTTP client call. */
export const messageSchema: Schema<MessageData> = v.object({ headers: pairs, content: maybe(v.object(contentEntries)) })
