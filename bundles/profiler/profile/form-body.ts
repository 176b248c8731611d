import type { MultipartPart } from '../../../lib/body/multipart.ts'
import { formatText } from './format-value.ts'
import { asList, asObjects } from './read-soft.ts'

/** A field of a recorded form, or a file in it, which is always empty. */
export interface FormPart extends MultipartPart {
  readonly content: string
  readonly file?: { readonly name: string; readonly type: string }
}

/** Reads the parts of a recorded form: fields first, then files, whose content is never kept. */
export function readFormParts({ files, form }: { readonly files?: unknown; readonly form?: unknown }): FormPart[] {
  return [
    ...asList(form)
      .filter(pair => Array.isArray(pair))
      .map(([name, value]) => ({ field: formatText(name), content: formatText(value) })),
    ...asObjects(files).map(({ field, name, type }) => {
      const file = { name: formatText(name), type: formatText(type) }
      return { field: formatText(field), content: '', file }
    }),
  ]
}

/** Writes the fields of a form as a browser sends them, of the type `application/x-www-form-urlencoded`. */
export function serializeForm(form: readonly unknown[]): string {
  const parameters = new URLSearchParams()
  for (const pair of form) if (Array.isArray(pair)) parameters.append(formatText(pair[0]), formatText(pair[1]))
  return parameters.toString()
}
