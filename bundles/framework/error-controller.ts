import { currentRequest } from '../../kernel/arguments/request-values.ts'
import { type Controller, defineController } from '../../kernel/controller.ts'
import type { DebugGate } from '../../kernel/debug-gate.ts'
import type { ThrownFrames } from '../../kernel/thrown-frames.ts'
import { flattenError } from '../../lib/errors/flat-error.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import { addVary, type Headers } from '../../lib/http/headers.ts'
import { preferredMediaType } from '../../lib/http/negotiation.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import type { StackFrame } from '../../lib/stack/stack-frames.ts'
import type { View } from '../../lib/view/view.ts'
import { createErrorReport, type ErrorReport } from './error-report.ts'
import { renderErrorHtml, renderErrorMarkdown, renderErrorProblem, renderErrorText } from './render-error.ts'

/** The services of the error controller. */
export interface ErrorControllerServices {
  readonly view: View
  readonly debugGate: DebugGate
  readonly redactor: Redactor
  /** The directory of the application: files are shown as seen from it. */
  readonly directory: string
  /** Finds the place in the code that an error names. */
  readonly thrown: Pick<ThrownFrames, 'find'>
}

type Renderer = (report: ErrorReport, view: View, request: Request) => Response | Promise<Response>

/** The media types of error responses. The first one is for clients without a preference. */
const mediaTypes = ['text/html', 'application/problem+json', 'application/json', 'text/markdown', 'text/plain'] as const

const renderers: Record<(typeof mediaTypes)[number], Renderer> = {
  'text/html': renderErrorHtml,
  'application/problem+json': renderErrorProblem,
  'application/json': renderErrorProblem,
  'text/markdown': renderErrorMarkdown,
  'text/plain': renderErrorText,
}

/** The renderer for each `_format` of a route. */
const formats: ReadonlyMap<unknown, Renderer> = new Map([
  ['html', renderErrorHtml],
  ['json', renderErrorProblem],
  ['md', renderErrorMarkdown],
  ['txt', renderErrorText],
])

/**
 * Creates the controller that answers errors as HTML, problem details (RFC 9457) or text: in the `_format` of the
 * route, or in the client's preferred type if the route has none of these formats. Clients that may see debug output
 * also get details and debug headers. All other clients get the status, and for a status below 500 the message.
 */
export function createErrorController({
  view,
  debugGate,
  redactor,
  directory,
  thrown,
}: ErrorControllerServices): Controller {
  return defineController('error_controller', [currentRequest], request => {
    const error = request.attributes.get('exception')
    const report = createErrorReport(error, { request, redactor, directory, isDebug: debugGate.allows(request) })
    const ofFormat = formats.get(request.attributes.get('_format'))
    const response = (ofFormat ?? negotiate(request))(report, view, request)
    const findFrame = () => thrown.find(flattenError(error), request.parent ?? request)
    const finish = (rendered: Response) => complete(rendered, report, error, ofFormat === undefined, findFrame)
    // A promise only if the page has a fragment.
    return response instanceof Promise ? response.then(finish) : finish(response)
  })
}

function complete(
  response: Response,
  { status, details }: ErrorReport,
  error: unknown,
  isNegotiated: boolean,
  findFrame: () => StackFrame | undefined,
): Response {
  response.status = status
  if (error instanceof HttpError) {
    for (const [name, value] of Object.entries(error.headers)) response.headers.set(name, value)
  }
  if (isNegotiated) addVary(response.headers, 'Accept')
  if (details !== undefined) addDebugHeaders(response.headers, details.message, findFrame())
  return response
}

function negotiate({ headers }: Request): Renderer {
  return renderers[preferredMediaType(headers, mediaTypes) ?? 'text/html']
}

/** The most bytes of a message in a header. */
const byteLimit = 2000

/**
 * Adds the message and the place of an error to the headers of its response. No page may show the details in a frame: the
 * policy of the page is in a `<meta>` element, which cannot forbid frames.
 */
function addDebugHeaders(headers: Headers, message: string, frame: StackFrame | undefined): void {
  headers.set('x-frame-options', 'DENY')
  headers.set('x-debug-exception', encode(cut(message)))
  if (frame?.file !== undefined) headers.set('x-debug-exception-file', `${encode(frame.file)}:${frame.line}`)
}

/** Cuts a text to a number of UTF-8 bytes, between two characters. */
function cut(text: string): string {
  const bytes = Buffer.from(text.toWellFormed())
  return bytes.length <= byteLimit
    ? bytes.toString()
    : new TextDecoder().decode(bytes.subarray(0, byteLimit), { stream: true })
}

/** Percent-encodes all but the unreserved characters of RFC 3986, section 2.3: `encodeURIComponent` keeps five more. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}
