/** What an {@link HttpError} may carry beside its message. */
export interface HttpErrorOptions {
  /** Response headers, such as `allow` or `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The error that led to this one. */
  readonly cause?: unknown
}

/** An error with the status and headers of the response it asks for. Only messages below 500 reach a client outside debug. */
export class HttpError extends Error {
  /** Names the condition for programs; never renamed. */
  readonly code: string = 'HTTP_ERROR'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, options: HttpErrorOptions = {}) {
    // Of these it takes the cause alone.
    super(message, options)
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(`The status of an HttpError must be an integer from 400 to 599, not ${status}.`)
    }
    this.status = status
    this.headers = options.headers ?? {}
  }

  override get name(): string {
    return this.constructor.name
  }
}

/**
 * Whether a status says that the request is to blame: also that its method (501, RFC 9110, section 15.6.2) or its version of
 * HTTP (505, section 15.6.6) is not known.
 */
export function isClientError(status: number): boolean {
  return status < 500 || status === 501 || status === 505
}

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

/** Makes an error without its stack, which costs more than a small request: for what nobody will ever look up. */
export function withoutStack<error extends Error>(create: () => error): error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return create()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
