import { errorChain, flattenError, messageOfError } from '../../lib/errors/flat-error.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import type { Request } from '../../lib/http/request.ts'
import { statusText } from '../../lib/http/response.ts'
import { type CopyBounds, MaskingCopier, propertyBounds } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { locateFrame } from '../../lib/stack/locate-frame.ts'
import type { StackFrame } from '../../lib/stack/stack-frames.ts'

/** The content of an error response, independent of its format. */
export interface ErrorReport {
  readonly status: number
  readonly statusText: string
  /** The language of the page that failed; empty if it is not known. */
  readonly locale: string
  /** The message, if every client may see it: that of an error below 500. */
  readonly publicMessage?: string | undefined
  /** Further members of problem details, if the client may see them, masked. */
  readonly members?: Readonly<Record<string, unknown>> | undefined
  /** Only for clients that may see debug output. */
  readonly details?: ErrorDetails | undefined
}

/** The details of an error, masked. */
export interface ErrorDetails {
  readonly message: string
  readonly method: string
  readonly url: string
  /** The error first, then its causes. */
  readonly exceptions: readonly ReportedException[]
}

/** One error of a chain of causes. */
export interface ReportedException {
  readonly name: string
  /** Empty if the error has no code, or if the code is its name. */
  readonly code: string
  readonly message: string
  /** Further properties of the error; absent without any. */
  readonly properties?: Readonly<Record<string, unknown>>
  readonly frames: readonly ReportedFrame[]
}

/** One call of a stack. */
export interface ReportedFrame {
  readonly call: string
  /** `kernel/http-kernel.ts:41`: as seen from the application. */
  readonly location: string
  /** Whether the code belongs to the application: not to the kernel, a package or Node.js. */
  readonly isApplication: boolean
}

/** The options of a report. */
export interface ErrorReportOptions {
  readonly request: Request
  readonly redactor: Redactor
  readonly directory: string
  /** Whether the client may see debug output. */
  readonly isDebug: boolean
}

/** Creates the report of an error. */
export function createErrorReport(error: unknown, options: ErrorReportOptions): ErrorReport {
  return new Report(error, options)
}

const memberBounds: CopyBounds = { depth: 8, entries: 2000, text: 4096, total: 65_536 }

class Report implements ErrorReport {
  readonly status: number
  readonly details: ErrorDetails | undefined
  readonly locale: string
  readonly #error: unknown
  readonly #redactor: Redactor

  constructor(error: unknown, options: ErrorReportOptions) {
    this.status = error instanceof HttpError ? error.status : 500
    this.details = options.isDebug ? createDetails(error, options) : undefined
    this.locale = options.request.attributes.get('_locale') ?? ''
    this.#error = error
    this.#redactor = options.redactor
  }

  get statusText(): string {
    return statusText(this.status)
  }

  /** Masked when it is read: most error pages do not show it. */
  get publicMessage(): string | undefined {
    return this.#error instanceof HttpError && this.status < 500
      ? messageOfError(this.#error, text => this.#redactor.text(text))
      : undefined
  }

  /** The application has chosen their names: a member `token` is for the client. Secrets in texts are masked. */
  get members(): Readonly<Record<string, unknown>> | undefined {
    if (!(this.#error instanceof HttpError) || (this.status >= 500 && this.details === undefined)) return undefined
    const text = (member: string) => this.#redactor.text(member)
    return new MaskingCopier({ text, isSecret: () => false }, memberBounds).record(this.#error.members)
  }
}

function createDetails(error: unknown, { request, redactor, directory }: ErrorReportOptions): ErrorDetails {
  const flat = flattenError(error, { mask: text => redactor.text(text) })
  const copier = new MaskingCopier(redactor, propertyBounds)
  const exceptions = errorChain(flat).map(({ name, code, message, properties, frames }) => ({
    name: redactor.text(name),
    code: code === undefined || code === name ? '' : redactor.text(String(code)),
    message,
    ...(properties && { properties: copier.record(properties) }),
    frames: frames.map(frame => reportFrame(frame, directory)),
  }))
  return {
    message: flat.message,
    method: request.method,
    url: redactor.text(request.url),
    exceptions,
  }
}

function reportFrame(frame: StackFrame, directory: string): ReportedFrame {
  const { file = 'native code', origin } = locateFrame(frame, directory)
  return {
    call: frame.function ?? 'anonymous',
    location: frame.line === undefined ? file : `${file}:${frame.line}`,
    isApplication: origin === 'application',
  }
}
