import type { MultipartPart } from '../../../lib/body/multipart.ts'
import type { ContentData } from './content-data.ts'
import type { BodyData } from './exchange-data.ts'
import { formatText } from './format-value.ts'
import type { Pairs } from './schema.ts'

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
export function writeContent({ form, json, text = '' }: ContentData): string {
  if (json !== undefined) return String(JSON.stringify(json[0]))
  return form === undefined ? text : serializeForm(form)
}
