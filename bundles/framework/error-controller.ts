import path from 'node:path'
import { failedRequest, routeParameter } from '../../kernel/argument-sources.ts'
import { type Controller, defineController } from '../../kernel/controller.ts'
import type { DebugGate } from '../../kernel/debug/debug-gate.ts'
import type { ThrownFrames } from '../../kernel/debug/thrown-frames.ts'
import { errorChain, flattenError, messageOfError } from '../../lib/errors/flat-error.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import { addVary, type Headers } from '../../lib/http/headers.ts'
import { preferredMediaType } from '../../lib/http/negotiation.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response, statusText } from '../../lib/http/response.ts'
import { packageDirectory } from '../../lib/package.ts'
import { type CopyBounds, MaskingCopier, propertyBounds } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import type { RouteDefinition } from '../../lib/routing/route.ts'
import { locateFrame, type StackFrame } from '../../lib/stack/stack-frames.ts'
import { asInteger } from '../../lib/text/conversion.ts'
import { escapeLines, toVisibleJson } from '../../lib/text/escapes.ts'
import { findPlainTemplate, type View } from '../../lib/view/view.ts'

interface ErrorControllerServices {
  readonly view: View
  readonly debugGate: DebugGate
  readonly redactor: Redactor
  /** The directory of the application: files are shown as seen from it. */
  readonly directory: string
  /** Finds the place in the code that an error names. */
  readonly thrown: Pick<ThrownFrames, 'find'>
}

type RenderPage = (report: Report, request: Request) => string | Promise<string>

/** A format of error responses: `_format` of a route, and the media type that clients prefer. */
interface ErrorFormat {
  readonly name: string
  readonly type: string
  readonly render: (report: Report, page: RenderPage, request: Request) => Response | Promise<Response>
}

const markdown = { 'content-type': 'text/markdown; charset=UTF-8' }

/** The first one is for clients without a preference. A client that accepts JSON accepts problem details. */
const formats: readonly [ErrorFormat, ...ErrorFormat[]] = [
  { name: 'html', type: 'text/html', render: (report, page, request) => Response.html(page(report, request)) },
  { name: 'json', type: 'application/problem+json', render: renderProblem },
  { name: 'md', type: 'text/markdown', render: report => Response.text(toErrorText(report), { headers: markdown }) },
  { name: 'txt', type: 'text/plain', render: report => Response.text(toErrorText(report)) },
]
const mediaTypes = formats.map(({ type }) => type)

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
  const page = debugGate.isDebug ? createPages(view) : cachePages(view, createPages(view))
  return defineController('error_controller', request => {
    const error = request.attributes.get('exception')
    const failed = failedRequest(request)
    const report = new Report(error, { failed, redactor, directory, isDebug: debugGate.allows(failed) })
    const named = request.attributes.get('_format')
    const ofRoute = formats.find(({ name }) => name === named)
    const { render } = ofRoute ?? negotiate(failed)
    const response = render(report, page, request)
    const findFrame = () => thrown.find(flattenError(error), failed)
    const finish = (rendered: Response) => complete(rendered, report, error, ofRoute === undefined, findFrame)
    // A promise only if the page has a fragment.
    return response instanceof Promise ? response.then(finish) : finish(response)
  })
}

function complete(
  response: Response,
  { status, details }: Report,
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

function negotiate({ headers }: Request): ErrorFormat {
  const preferred = preferredMediaType(headers, mediaTypes)
  return formats.find(({ type }) => type === preferred) ?? formats[0]
}

/** The most bytes of a message in a header. */
const byteLimit = 2000

/**
 * Adds the message and the place of an error to the headers of its response. No page may show the
 * details in a frame: the policy of the page is in a `<meta>` element, which cannot forbid frames.
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

const referenceLength = 8

/** The template of error pages, which an application may replace. */
const template = 'framework/error'
const ownTemplate = path.join(packageDirectory, `templates/${template}.hbs`)

/** Renders the pages of errors: those of production, with the details as text if the client may see them. */
function createPages(view: View): RenderPage {
  return (report, request) => {
    const { details, locale, status, statusText } = report
    const title =
      details === undefined ? `An Error Occurred: ${statusText}` : `${details.message} (${status} ${statusText})`
    // The beginning of the id finds the request in the log, and can be read out.
    const requestId = showsRequest(status) ? request.id : ''
    const reference = requestId.slice(0, referenceLength)
    const [headline, advice] = advise(status)
    const text = details === undefined ? '' : toErrorText(report)
    const model = { title, headline, advice, status, statusText, locale, requestId, reference, report: text }
    return view.render(template, model, request)
  }
}

/** A question about a mistake of the server is about one request. Other errors explain themselves. */
function showsRequest(status: number): boolean {
  return status >= 500
}

/** The most pages of a cache: clients may be able to choose the language. */
const pageLimit = 100

/**
 * Caches error pages of production by status and language: scanners cause many. A page is rendered
 * each time if the application has replaced the template, or if the page depends on its request.
 */
function cachePages(view: View, render: RenderPage): RenderPage {
  const pages = new Map<string, string>()
  /** The files with which the pages were rendered, and whether their template is that of the package. */
  let files: unknown
  let isOwn = false
  const canCache = () => {
    const current = view.files()
    if (current !== files) {
      files = current
      isOwn = findPlainTemplate(view, template) === ownTemplate
      pages.clear()
    }
    return isOwn
  }
  return (report, request) => {
    const { locale, status } = report
    if (showsRequest(status) || request.basePath !== '' || !canCache()) return render(report, request)
    const key = `${status} ${locale}`
    const cached = pages.get(key)
    if (cached !== undefined) return cached
    const page = render(report, request)
    if (typeof page === 'string' && pages.size < pageLimit) pages.set(key, page)
    return page
  }
}

/** The headline and the sentence for visitors about each status. */
const advices: ReadonlyMap<number, readonly [headline: string, advice: string]> = new Map([
  [401, ['Please log in', 'You have to log in to see this page.']],
  [403, ['No access', 'You may not see this page.']],
  [404, ['Page not found', 'There is no page at this address. Please check it for typing mistakes.']],
  [410, ['Page removed', 'This page was removed.']],
  [413, ['Too much data', 'The request has too much data.']],
  [429, ['Too many requests', 'There were too many requests. Please wait a moment, then try again.']],
  [
    503,
    ['Back in a moment', 'The website is busy at the moment, or under maintenance. Please try again in a few minutes.'],
  ],
])

function advise(status: number): readonly [headline: string, advice: string] {
  const found = advices.get(status)
  if (found !== undefined) return found
  return status < 500
    ? ['The request cannot be answered', 'Please go back and check what you have sent.']
    : [
        'Something went wrong',
        'The mistake is on the server. Please try again. If the problem remains, contact the operator of this website.',
      ]
}

/** Describes an error as Markdown that is also readable in a terminal. */
function toErrorText({ status, statusText, publicMessage, details }: Report): string {
  const parts = [`# ${status} ${statusText}`]
  if (details === undefined) {
    if (publicMessage) parts.push(publicMessage)
  } else {
    parts.push(`${details.method} ${details.url}`, ...details.exceptions.map(describe))
  }
  return escapeLines(`${parts.join('\n\n')}\n`)
}

function describe(
  { name, message, properties = {}, frames }: ErrorDetails['exceptions'][number],
  index: number,
): string {
  const heading = index === 0 ? `## ${name}` : `## Caused by ${name}`
  const calls = frames.map(({ call, location }) => `- ${call} (${location})`).join('\n')
  const facts = Object.entries(properties).map(([name, value]) => `- ${name}: ${toLine(value)}`)
  return [heading, message, facts.join('\n'), calls].filter(part => part !== '').join('\n\n')
}

function toLine(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Renders an error as problem details (RFC 9457). */
function renderProblem({ status, statusText, publicMessage, members, details }: Report): Response {
  const problem = {
    type: 'about:blank',
    title: statusText,
    status,
    detail: details?.message ?? publicMessage ?? statusText,
    ...members,
    ...(details !== undefined && { exceptions: details.exceptions }),
  }
  return new Response(toVisibleJson(problem), { headers: { 'content-type': 'application/problem+json' } })
}

type ErrorDetails = ReturnType<typeof createDetails>

interface ErrorReportOptions {
  /** The request that has failed, not the sub-request of its error page. */
  readonly failed: Request
  readonly redactor: Redactor
  readonly directory: string
  /** Whether the client may see debug output. */
  readonly isDebug: boolean
}

const memberBounds: CopyBounds = { depth: 8, entries: 2000, text: 4096, total: 65_536 }

/** The content of an error response, independent of its format. */
class Report {
  readonly status: number
  /** Only for clients that may see debug output. */
  readonly details: ErrorDetails | undefined
  /** The language of the page that failed; empty if it is not known. */
  readonly locale: string
  readonly #error: unknown
  readonly #redactor: Redactor

  constructor(error: unknown, options: ErrorReportOptions) {
    this.status = error instanceof HttpError ? error.status : 500
    this.details = options.isDebug ? createDetails(error, options) : undefined
    this.locale = options.failed.attributes.get('_locale') ?? ''
    this.#error = error
    this.#redactor = options.redactor
  }

  get statusText(): string {
    return statusText(this.status)
  }

  /**
   * The message, if every client may see it: that of an error below 500. Masked when it is read:
   * most error pages do not show it.
   */
  get publicMessage(): string | undefined {
    return this.#error instanceof HttpError && this.status < 500
      ? messageOfError(this.#error, text => this.#redactor.text(text))
      : undefined
  }

  /**
   * Further members of problem details, if the client may see them. The application has chosen
   * their names: a member `token` is for the client. Secrets in texts are masked.
   */
  get members(): Readonly<Record<string, unknown>> | undefined {
    if (!(this.#error instanceof HttpError) || (this.status >= 500 && this.details === undefined)) return undefined
    const text = (member: string) => this.#redactor.text(member)
    return new MaskingCopier({ text, isSecret: () => false }, memberBounds).record(this.#error.members)
  }
}

/** The details of an error, masked: the error first, then its causes. */
function createDetails(error: unknown, { failed, redactor, directory }: ErrorReportOptions) {
  const flat = flattenError(error, { mask: text => redactor.text(text) })
  const copier = new MaskingCopier(redactor, propertyBounds)
  const exceptions = errorChain(flat).map(({ name, code, message, properties, frames }) => ({
    name: redactor.text(name),
    // Empty if the error has no code, or if the code is its name.
    code: code === undefined || code === name ? '' : redactor.text(String(code)),
    message,
    ...(properties && { properties: copier.record(properties) }),
    frames: frames.map(frame => reportFrame(frame, directory)),
  }))
  return { message: flat.message, method: failed.method, url: redactor.text(failed.url), exceptions }
}

/** One call of a stack, with its place as seen from the application: `kernel/http-kernel.ts:41`. */
function reportFrame(frame: StackFrame, directory: string) {
  const { file = 'native code', origin } = locateFrame(frame, directory)
  return {
    call: frame.function ?? 'anonymous',
    location: frame.line === undefined ? file : `${file}:${frame.line}`,
    isApplication: origin === 'application',
  }
}

/** Creates the controller that shows the error page of production to developers. */
export function createErrorPreview({
  directory,
  redactor,
  view,
}: Omit<ErrorControllerServices, 'debugGate' | 'thrown'>) {
  return defineController('error_preview', { code: routeParameter(asInteger) }, async ({ code }, request) => {
    if (code < 400 || code > 599)
      throw new HttpError(404, `There is no error page for the status ${code}; try 404 or 500.`)
    const report = new Report(new HttpError(code, statusText(code)), {
      failed: request,
      redactor,
      directory,
      isDebug: false,
    })
    return Response.html(await createPages(view)(report, request), { status: code })
  })
}

/**
 * Creates the route of the link that the server prints at start if `DEBUG_KEY` is set. It exchanges the
 * key for a cookie, and redirects to an address without the key. Requests without the key do not match it.
 */
export function createKeyRoute(debugGate: DebugGate): RouteDefinition<Controller> {
  return {
    name: '_debug_key',
    path: '/_debug',
    methods: ['GET'],
    condition: request => debugGate.isOpenedBy(request.query.get('key') ?? '', request),
    controller: defineController('debug_key', request => {
      const response = Response.redirect('/', 303)
      debugGate.giveCookie(response.headers, request.scheme === 'https')
      response.headers.set('cache-control', 'no-store')
      response.headers.set('referrer-policy', 'no-referrer')
      return response
    }),
  }
}
