import { formatText } from './format-soft.ts'

/** Writes the fields of a form as a browser sends them, of the type `application/x-www-form-urlencoded`. */
export function serializeForm(form: readonly unknown[]): string {
  const parameters = new URLSearchParams()
  for (const pair of form) if (Array.isArray(pair)) parameters.append(formatText(pair[0]), formatText(pair[1]))
  return parameters.toString()
}
