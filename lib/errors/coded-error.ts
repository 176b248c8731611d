import { HttpError, type HttpErrorOptions } from './http-error.ts'

/** A class of errors for one condition: its placeholders are typed, its code and status are fixed. */
export interface CodedErrorClass<placeholders extends readonly unknown[]> {
  new (placeholders: placeholders, options?: HttpErrorOptions): HttpError
  readonly code: string
  readonly status: number
  readonly template: string
}

/**
 * Declares the error of one condition. Each `%s` of the template stands for a placeholder, in order.
 * Codes read `AREA_CONDITION` and have a row in `docs/reference/errors.md`.
 */
export function defineError<placeholders extends readonly unknown[]>(
  code: string,
  status: number,
  template: string,
): CodedErrorClass<placeholders> {
  const parts = template.split('%s')
  const coded = class extends HttpError {
    static readonly code = code
    static readonly status = status
    static readonly template = template
    override readonly code = code

    constructor(values: placeholders, options?: HttpErrorOptions) {
      super(status, fill(parts, values), options)
    }
  }
  // The class is its condition: stacks, logs and profiles name it.
  Object.defineProperty(coded, 'name', { value: code })
  return coded
}

function fill(parts: readonly string[], values: readonly unknown[]): string {
  return parts.reduce((text, part, index) => `${text}${String(values[index - 1])}${part}`)
}
