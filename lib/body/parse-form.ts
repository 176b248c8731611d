import { BODY_FIELDS_TOO_MANY, BODY_FORM_INVALID } from './errors.ts'
import { FormData } from './form-data.ts'

/**
 * Parses a form of the type `application/x-www-form-urlencoded`, as the URL Standard says. Names stay as they are:
 * `a[b]` means nothing special.
 * @throws BODY_FIELDS_TOO_MANY (413) before anything is parsed, counting empty fields too
 * @throws BODY_FORM_INVALID (400) when escaped bytes are not UTF-8
 */
export function parseForm(text: string, maxFields: number): FormData {
  if (hasMoreFieldsThan(maxFields, text)) throw new BODY_FIELDS_TOO_MANY([maxFields, 'fields'])
  checkEscapes(text)
  const form = new FormData()
  for (const [name, value] of new URLSearchParams(text)) form.append(name, value)
  return form
}

function hasMoreFieldsThan(limit: number, text: string): boolean {
  let count = 1
  for (let at = text.indexOf('&'); at !== -1 && count <= limit; at = text.indexOf('&', at + 1)) count++
  return count > limit
}

/** URLSearchParams would put U+FFFD in the place of what it cannot decode. */
function checkEscapes(text: string): void {
  try {
    for (const [escaped] of text.matchAll(/(?:%[0-9a-f]{2})+/gi)) decodeURIComponent(escaped)
  } catch {
    throw new BODY_FORM_INVALID(['it has escaped bytes that are not UTF-8'])
  }
}
