import { describeValue, isPlainObject } from '../text/describe-value.ts'
import { findShapeMistakes, type ShapeOf } from '../text/mistakes.ts'

/** The options of an {@link HttpError}. */
export interface HttpErrorOptions {
  /** Response headers, such as `allow` or `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The cause of this error. */
  readonly cause?: unknown
  /**
   * Further members of the problem details (RFC 9457, section 3.2): `{ balance: 30 }`. The client
   * gets them if it gets the message, so they contain nothing secret.
   */
  readonly members?: ProblemMembers
}

/** Values that JSON can represent. The names of the members that all problem details have are reserved. */
type ProblemMembers = { readonly [name in ReservedMember]?: never } & Readonly<Record<string, unknown>>

const reservedMembers = ['type', 'title', 'status', 'detail', 'instance', 'exceptions'] as const
type ReservedMember = (typeof reservedMembers)[number]

const optionShape: ShapeOf<HttpErrorOptions> = { headers: 'object', cause: true, members: 'object' }
const noOptions: HttpErrorOptions = Object.freeze({})
const noHeaders: Readonly<Record<string, string>> = Object.freeze({})
const noMembers: ProblemMembers = Object.freeze({})

/**
 * An error with the status and headers of its response. Outside of debug, clients get only the
 * messages of statuses below 500.
 */
export class HttpError extends Error {
  /** Identifies the condition for programs. It is never renamed. */
  readonly code: string = 'HTTP_ERROR'
  /** The status of the response: 400 to 599. */
  readonly status: number
  /** Headers of the response, such as `retry-after`. */
  readonly headers: Readonly<Record<string, string>>
  /** The further members of the problem details. */
  readonly members: ProblemMembers

  constructor(status: number, message: string, options: HttpErrorOptions = noOptions) {
    // Error takes only the cause of these options.
    super(message, Object.hasOwn(Object(options), 'cause') ? options : undefined)
    checkStatus(status)
    if (typeof message !== 'string') {
      throw new TypeError(`The message of an HttpError must be a string, not ${describeValue(message)}.`)
    }
    if (options !== noOptions) checkOptions(options)
    this.status = status
    this.headers = options.headers ?? noHeaders
    this.members = options.members === undefined ? noMembers : checkMembers(options.members)
  }

  /** The name of the class. */
  override get name(): string {
    return this.constructor.name
  }
}

function checkStatus(status: unknown): void {
  if (Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599) return
  const found = typeof status === 'number' ? status : describeValue(status)
  const advice = Number(status) >= 300 && Number(status) < 400 ? ' For a redirect, return Response.redirect(url).' : ''
  throw new RangeError(`The status of an HttpError must be an integer from 400 to 599, not ${found}.${advice}`)
}

/** Without a code of its own: an error with a code is itself an `HttpError`. */
function checkOptions(options: HttpErrorOptions): void {
  const mistake = isPlainObject(options)
    ? findShapeMistakes('option', options, optionShape)[0]
    : `its options are an object with headers, cause, members, not ${describeValue(options)}`
  if (mistake !== undefined) throw new TypeError(`An HttpError cannot be made: ${mistake}.`)
}

function checkMembers(members: ProblemMembers): ProblemMembers {
  const reserved = reservedMembers.find(name => Object.hasOwn(members, name))
  if (reserved !== undefined)
    throw new TypeError(`An HttpError cannot have a member "${reserved}": the name is reserved.`)
  return members
}

/**
 * Whether a status is a mistake of the client. This includes an unknown method (501, RFC 9110, section 15.6.2) and an
 * unknown version of HTTP (505, section 15.6.6).
 */
export function isClientError(status: number): boolean {
  return status < 500 || status === 501 || status === 505
}

/** A class of errors for one condition, with typed placeholders and a fixed code and status. */
export interface CodedErrorClass<placeholders extends readonly unknown[]> {
  /** Creates the error with the values of the placeholders, in their order. */
  new (placeholders: placeholders, options?: HttpErrorOptions): HttpError
  /** The code of each of its errors. */
  readonly code: string
  /** The status of the response to each of its errors. */
  readonly status: number
  /** The message, with `%s` for each placeholder. */
  readonly template: string
}

/**
 * Declares the error class of one condition. Each `%s` of the template is a placeholder, in order. A code has the form
 * `AREA_CONDITION`.
 */
export function defineError<placeholders extends readonly unknown[]>(
  code: string,
  status: number,
  template: string,
): CodedErrorClass<placeholders> {
  checkText('defineError()', 'code', code)
  checkStatus(status)
  checkText('defineError()', 'template', template)
  const parts = template.split('%s')
  const coded = class extends HttpError {
    static readonly code = code
    static readonly status = status
    static readonly template = template
    override readonly code = code

    constructor(values: placeholders, options?: HttpErrorOptions) {
      if (!Array.isArray(values) || values.length !== parts.length - 1) throw explainPlaceholders(code, parts, values)
      super(status, fill(parts, values), options)
    }
  }
  // Stacks, logs and profiles show the name of the class.
  Object.defineProperty(coded, 'name', { value: code })
  return coded
}

/** The kernel has its errors from here, so that there is no error with a code for these. */
function checkText(call: string, noun: string, value: unknown): void {
  if (typeof value !== 'string')
    throw new TypeError(`${call}: the ${noun} must be a string, not ${describeValue(value)}.`)
}

function explainPlaceholders(code: string, parts: readonly string[], values: unknown): TypeError {
  const count = parts.length - 1
  const found = Array.isArray(values) ? `a list of ${values.length}` : describeValue(values)
  const right = `new ${code}([${Array.from({ length: count }, (_, index) => `value${index + 1}`).join(', ')}])`
  return new TypeError(`${code}: its message has ${count} placeholders, so write ${right}: it got ${found}.`)
}

function fill(parts: readonly string[], values: readonly unknown[]): string {
  return parts.reduce((text, part, index) => `${text}${String(values[index - 1])}${part}`)
}

/** Creates an error without a stack, for errors whose stack is never read: a stack costs more than a small request. */
export function withoutStack<error extends Error>(create: () => error): error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return create()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
