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
