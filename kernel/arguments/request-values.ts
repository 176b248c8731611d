import { isChosen, UploadedFile } from '../../lib/body/form-data.ts'
import { ARGUMENT_INVALID, checkString } from '../../lib/errors/arguments.ts'
import { isHeaderName } from '../../lib/http/headers.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Session } from '../../lib/session/session.ts'
import { asText, type Conversion, findStandInMistake } from '../../lib/text/conversion.ts'
import { describeValue, isPlainObject } from '../../lib/text/describe-value.ts'
import { type Argument, noteParameter } from '../controller.ts'
import {
  KERNEL_ARGUMENT_MISSING,
  KERNEL_CONVERSION_INVALID,
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
  const find = ({ attributes }: Request) => {
    const value = attributes.get(name)
    return value === undefined ? undefined : String(value)
  }
  const argument = convertText('routeParameter', name, find, conversion, undefined, {
    missing: ({ attributes }) => new KERNEL_ARGUMENT_MISSING([name, attributes.get('_route') ?? '']),
    invalid: text => new KERNEL_ROUTE_VALUE_INVALID([name, conversion.expected, text]),
  })
  return noteParameter(argument, name)
}

/**
 * A value of the query string. If it is missing and has no fallback, or cannot be converted, the answer is 400. With
 * `asListOf()` it is a list: `?tag=a,b` and `?tag=a&tag=b` are the same. Brackets in a name have no meaning.
 */
export function queryValue(name: string): Argument<string>
export function queryValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function queryValue(name: string, conversion: Conversion<unknown> = asText, fallback?: unknown): Argument {
  const find = ({ query }: Request) =>
    conversion.entry === undefined ? query.get(name) : joinValues(query.getAll(name))
  return convertText('queryValue', name, find, conversion, fallback, {
    missing: () => new KERNEL_QUERY_VALUE_MISSING([name]),
    invalid: text => new KERNEL_QUERY_VALUE_INVALID([name, conversion.expected, text]),
  })
}

function joinValues(values: readonly string[]): string | null {
  return values.length === 0 ? null : values.join(',')
}

/** A header of the request. If it is missing and has no fallback, or cannot be converted, the answer is 400. */
export function headerValue(name: string): Argument<string>
export function headerValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function headerValue(name: string, conversion: Conversion<unknown> = asText, fallback?: unknown): Argument {
  if (!isHeaderName(name))
    throw new ARGUMENT_INVALID([`headerValue("${name}")`, 'no header has this name: use one such as "user-agent"'])
  return convertText('headerValue', name, ({ headers }) => headers.get(name), conversion, fallback, {
    missing: () => new KERNEL_HEADER_MISSING([name]),
    invalid: () => new KERNEL_HEADER_INVALID([name, conversion.expected]),
  })
}

/** A cookie of the request. If it is missing and has no fallback, or cannot be converted, the answer is 400. */
export function cookieValue(name: string): Argument<string>
export function cookieValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function cookieValue(name: string, conversion: Conversion<unknown> = asText, fallback?: unknown): Argument {
  return convertText('cookieValue', name, ({ cookies }) => cookies.get(name), conversion, fallback, {
    missing: () => new KERNEL_COOKIE_MISSING([name]),
    invalid: () => new KERNEL_COOKIE_INVALID([name, conversion.expected]),
  })
}

/** The first file of this name in a form. If none was chosen, the answer is 422. */
export function uploadedFile(name: string): Argument<UploadedFile> {
  checkString('uploadedFile(name)', 'the name', name)
  return async request => {
    const file = (await request.formData()).get(name)
    if (!(file instanceof UploadedFile) || !isChosen(file)) throw new KERNEL_FILE_MISSING([name])
    return file
  }
}

/** Whether a fallback is in an object, as other frameworks take it. */
function isOptions(fallback: unknown): boolean {
  return isPlainObject(fallback) && ['fallback', 'default', 'defaultValue'].some(key => Object.hasOwn(fallback, key))
}

/** The errors for a text that is missing, and for a text that cannot be converted. */
interface TextErrors {
  missing(request: Request): Error
  invalid(text: string): Error
}

/**
 * An argument that finds a text in the request and converts it. Without the text it is the fallback, if there is one.
 *
 * @throws KERNEL_CONVERSION_INVALID
 */
function convertText(
  argument: string,
  name: string,
  find: (request: Request) => string | null | undefined,
  conversion: Conversion<unknown>,
  fallback: unknown,
  errors: TextErrors,
): Argument {
  checkString(`${argument}(name)`, 'the name', name)
  if (typeof conversion?.convert !== 'function') {
    throw new KERNEL_CONVERSION_INVALID([`${argument}("${name}")`, describeValue(conversion)])
  }
  const mistake = isOptions(fallback)
    ? 'is its third argument itself, not an object with options'
    : findStandInMistake(fallback, text => conversion.convert(text))
  if (mistake !== undefined) throw new ARGUMENT_INVALID([`${argument}("${name}")`, `the fallback ${mistake}`])
  return request => {
    const text = find(request)
    if (text === null || text === undefined) {
      if (fallback === undefined) throw errors.missing(request)
      return fallback
    }
    const value = conversion.convert(text)
    if (value === undefined) throw errors.invalid(text)
    return value
  }
}
