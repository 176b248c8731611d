import * as v from 'valibot'
import type { MultipartPart } from '../../../lib/body/multipart.ts'
import { formatText } from './format.ts'
import { amountOrNull, check, count, list, maybe, oneOf, type Pairs, pairs, text } from './schema.ts'

/** The content of a message as it is stored: masked, and within bounds. */
export type ContentData = v.InferOutput<typeof contentSchema>

/** The head and the content of a request or a response of an HTTP client call. */
export type MessageData = v.InferOutput<typeof messageSchema>

/** The fields of the schema of a content. */
const contentEntries = {
  /** The media type; empty when none was sent. */
  type: text,
  /** Bytes before compression; of a request, those that were read, else the announced length. `null`: not known. */
  length: amountOrNull,
  /** The fields of a form, in their order. */
  form: maybe(pairs),
  /** The value of JSON, in a list of its own: it may be `null`. */
  json: maybe(v.tuple([v.nonOptional(v.unknown())])),
  /** Other text, such as HTML. */
  text: maybe(check.text),
  /** Whether `text` is only the beginning. */
  isCut: maybe(v.literal(true)),
  /** The first 32 hexadecimal digits of the SHA-256 of content that is not stored as a whole. */
  digest: maybe(v.pipe(v.string(), v.regex(/^[\da-f]{32}$/))),
  /** Why the content is not stored. */
  note: maybe(check.text),
}

/** The schema of a content. */
export const contentSchema = v.object(contentEntries)

/** The schema of a message of an HTTP client call. */
export const messageSchema = v.object({ headers: pairs, content: maybe(contentSchema) })

/** A field of a recorded form, or a file in it, which is always empty. */
export interface FormPart extends MultipartPart {
  readonly content: string
  readonly file?: { readonly name: string; readonly type: string }
}

/** Reads the parts of a recorded form: fields first, then files, whose content is never kept. */
export function readFormParts({ files = [], form = [] }: Pick<BodyData, 'files' | 'form'>): FormPart[] {
  return [
    ...form.map(([name, value]) => ({ field: name, content: formatText(value) })),
    ...files.map(({ field, name, type }) => ({ field, content: '', file: { name, type } })),
  ]
}

/** Writes the fields of a form as a browser sends them, of the type `application/x-www-form-urlencoded`. */
export function serializeForm(form: Pairs): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of form) parameters.append(name, formatText(value))
  return parameters.toString()
}

/** Writes a stored content as it may have been sent; empty when nothing of it is stored. */
export function writeContent({ form, json, text = '' }: Pick<ContentData, 'form' | 'json' | 'text'>): string {
  if (json !== undefined) return String(JSON.stringify(json[0]))
  return form === undefined ? text : serializeForm(form)
}

export const body = v.object({
  ...contentEntries,
  /** `parent`: a sub-request has the body of its parent. `broken`: reading failed or never ended. */
  state: oneOf(['unread', 'read', 'broken', 'parent']),
  files: maybe(
    list(
      v.object({
        field: text,
        /** The name that the client has sent. */
        name: text,
        /** The type that the client claims. */
        type: text,
        size: count,
      }),
    ),
  ),
})

/** The body of a request. Of text, only forms and JSON are stored. */
export type BodyData = v.InferOutput<typeof body>

/** An uploaded file; its content is never recorded. */
export type FileData = NonNullable<BodyData['files']>[number]
