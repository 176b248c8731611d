import { isChosen, UploadedFile } from '../../lib/body/form-data.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Session } from '../../lib/session/session.ts'
import { asText, type Conversion } from '../../lib/text/conversion.ts'
import type { Argument } from '../controller.ts'
import {
  KERNEL_ARGUMENT_MISSING,
  KERNEL_COOKIE_INVALID,
  KERNEL_COOKIE_MISSING,
  KERNEL_FILE_MISSING,
  KERNEL_HEADER_INVALID,
  KERNEL_HEADER_MISSING,
  KERNEL_QUERY_VALUE_INVALID,
  KERNEL_QUERY_VALUE_MISSING,
  KERNEL_ROUTE_VALUE_INVALID,
} from '../errors.ts'

/** The request itself. */
export const currentRequest: Argument<Request> = request => request

/** The session of the request, which costs nothing until it is used. */
export const currentSession: Argument<Session> = request => request.session

/** A parameter of the matched route. If it cannot be converted, the answer is 404. */
export function routeParameter(name: string): Argument<string>
export function routeParameter<value>(name: string, conversion: Conversion<value>): Argument<value>
export function routeParameter(name: string, conversion: Conversion<unknown> = asText): Argument {
  return request => {
    const text = request.attributes.get(name)
    if (text === undefined) throw new KERNEL_ARGUMENT_MISSING([name, String(request.attributes.get('_route'))])
    const value = conversion.convert(String(text))
    if (value === undefined) throw new KERNEL_ROUTE_VALUE_INVALID([name, conversion.expected, String(text)])
    return value
  }
}

/**
 * A value of the query string. If it is missing and has no fallback, or cannot be converted, the answer is 400. With
 * `asListOf()` it is a list: `?tag=a,b` and `?tag=a&tag=b` are the same. Brackets in a name have no meaning.
 */
export function queryValue(name: string): Argument<string>
export function queryValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function queryValue(name: string, conversion: Conversion<unknown> = asText, fallback?: unknown): Argument {
  return ({ query }) => {
    const text = conversion.entry === undefined ? query.get(name) : joinValues(query.getAll(name))
    if (text === null) {
      if (fallback === undefined) throw new KERNEL_QUERY_VALUE_MISSING([name])
      return fallback
    }
    const value = conversion.convert(text)
    if (value === undefined) throw new KERNEL_QUERY_VALUE_INVALID([name, conversion.expected, text])
    return value
  }
}

function joinValues(values: readonly string[]): string | null {
  return values.length === 0 ? null : values.join(',')
}

/** A header of the request. If it is missing and has no fallback, or cannot be converted, the answer is 400. */
export function headerValue(name: string): Argument<string>
export function headerValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function headerValue(name: string, conversion: Conversion<unknown> = asText, fallback?: unknown): Argument {
  return ({ headers }) => {
    const text = headers.get(name)
    if (text === null) {
      if (fallback === undefined) throw new KERNEL_HEADER_MISSING([name])
      return fallback
    }
    const value = conversion.convert(text)
    if (value === undefined) throw new KERNEL_HEADER_INVALID([name, conversion.expected])
    return value
  }
}

/** A cookie of the request. If it is missing and has no fallback, or cannot be converted, the answer is 400. */
export function cookieValue(name: string): Argument<string>
export function cookieValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function cookieValue(name: string, conversion: Conversion<unknown> = asText, fallback?: unknown): Argument {
  return ({ cookies }) => {
    const text = cookies.get(name)
    if (text === undefined) {
      if (fallback === undefined) throw new KERNEL_COOKIE_MISSING([name])
      return fallback
    }
    const value = conversion.convert(text)
    if (value === undefined) throw new KERNEL_COOKIE_INVALID([name, conversion.expected])
    return value
  }
}

/** The first file of this name in a form. If none was chosen, the answer is 422. */
export function uploadedFile(name: string): Argument<UploadedFile> {
  return async request => {
    const file = (await request.formData()).get(name)
    if (!(file instanceof UploadedFile) || !isChosen(file)) throw new KERNEL_FILE_MISSING([name])
    return file
  }
}
