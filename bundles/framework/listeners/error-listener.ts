import path from 'node:path'
import { nameOfController } from '../../../kernel/controller.ts'
import type { ThrownFrames } from '../../../kernel/debug/thrown-frames.ts'
import { KERNEL_METHOD_NOT_ALLOWED, KERNEL_NO_ROUTE, KERNEL_QUERY_VALUE_MISSING } from '../../../kernel/errors.ts'
import { ExceptionEvent } from '../../../kernel/events.ts'
import { adviseOnModuleName } from '../../../kernel/mistakes/service-advice.ts'
import { after, type Eventual } from '../../../kernel/steps.ts'
import { BODY_TOO_LARGE } from '../../../lib/body/errors.ts'
import { flattenError, messageOfError } from '../../../lib/errors/flat-error.ts'
import { HttpError, isClientError } from '../../../lib/errors/http-error.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { HTTP_CROSS_ORIGIN } from '../../../lib/http/errors.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import type { LogContext, Logger, LogLevel } from '../../../lib/log/logger.ts'
import { showPlace } from '../../../lib/stack/declaration-sites.ts'
import type { StackFrame } from '../../../lib/stack/stack-frames.ts'
import { readProperty } from '../../../lib/text/describe-value.ts'
import { applyStatus, type ExceptionRule, findRule } from '../exception-rules.ts'

/** Before other listeners change the error. */
const logPriority = 0

/** After listeners without a priority, and the profiler: they see the error that was thrown. */
const rulePriority = -1

/** After all listeners that may have a better answer. */
export const handlePriority = -128

interface ErrorListenerServices {
  readonly logger: Logger
  readonly isDebug: boolean
  readonly thrown: Pick<ThrownFrames, 'find' | 'findDefinition'>
  /** What errors of libraries mean. */
  readonly rules?: readonly ExceptionRule[]
}

/** Logs errors. The error controller answers them in a sub-request, whose method is always GET. */
export class ErrorListener {
  readonly #logger: Logger
  readonly #isDebug: boolean
  readonly #thrown: Pick<ThrownFrames, 'find' | 'findDefinition'>
  readonly #rules: readonly ExceptionRule[]

  constructor({ isDebug, logger, rules = [], thrown }: ErrorListenerServices) {
    this.#thrown = thrown
    this.#logger = logger.channel('request')
    this.#isDebug = isDebug
    this.#rules = rules
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ExceptionEvent, this, 'logException', logPriority)
    if (this.#rules.length > 0) dispatcher.subscribe(ExceptionEvent, this, 'applyRule', rulePriority)
    dispatcher.subscribe(ExceptionEvent, this, 'onException', handlePriority)
  }

  logException({ error, request }: ExceptionEvent): void {
    const rule = findRule(this.#rules, error)
    if (rule === undefined) this.#log(error, request)
    else this.#logWithPlace(error, request, rule.level ?? (isClientError(rule.status ?? 500) ? 'error' : 'critical'))
  }

  #log(error: unknown, request: Request): void {
    if (error instanceof HttpError && (isMissOrRefusal(error) || error.status < 500)) {
      const level = isRefusedInput(error) ? 'info' : isMissOrRefusal(error) ? this.#missLevel : 'error'
      // Scanners cause many misses, which are not logged in production by default.
      if (!this.#logger.isLevelEnabled(level)) return
      const { name } = error
      const message = messageOfError(error)
      // The stack of such an error is always the same, so no place is logged.
      const log = this.#logger.withRequestId(request.id)
      log[level]('Uncaught {name}: "{message}"', { name, message, exception: error })
      const advice = this.#isDebug ? adviseOnInput(error, request) : undefined
      if (advice === undefined) return
      log.warning(`The route "{route}"{where}: ${advice[0]}`, {
        route: request.attributes.get('_route'),
        where: showPlace(this.#thrown.findDefinition(request)),
        ...advice[1],
      })
      return
    }
    this.#logWithPlace(error, request, 'critical')
    const advice = this.#isDebug && !(error instanceof HttpError) ? adviseOnError(error) : undefined
    if (advice !== undefined) this.#logger.withRequestId(request.id).warning(...advice)
  }

  #logWithPlace(error: unknown, request: Request, level: LogLevel): void {
    if (!this.#logger.isLevelEnabled(level)) return
    const flat = flattenError(error)
    const { message, name } = flat
    const place = toPlace(this.#thrown.find(flat, request))
    const context = { name, message, ...(place === undefined ? { controller: readController(request) } : { place }) }
    const where = place === undefined ? '(controller {controller})' : 'at {place}'
    this.#logger
      .withRequestId(request.id)
      [level](`Uncaught {name}: "{message}" ${where}`, { ...context, exception: error })
  }

  applyRule(event: ExceptionEvent): void {
    const rule = findRule(this.#rules, event.error)
    if (rule !== undefined) event.error = applyStatus(rule, event.error)
  }

  /** In production, scanners would fill the log with misses, so their level is lower there. */
  get #missLevel(): 'error' | 'info' {
    return this.#isDebug ? 'error' : 'info'
  }

  onException(event: ExceptionEvent): Eventual<void> {
    const request = event.request.duplicate({ method: 'GET' })
    request.attributes.set('_controller', 'error_controller')
    request.attributes.set('exception', event.error)
    request.attributes.set('logger', this.#logger)
    const format = findFormat(event.request)
    if (format !== undefined) request.attributes.set('_format', format)
    return after(event.kernel.answer(request, { catchErrors: false }), event, respond)
  }
}

/** What is right instead of a thrown value, as far as it is known, and the values of this message. */
function adviseOnError(error: unknown): [message: string, context?: LogContext] | undefined {
  const status = readStatus(error)
  if (status !== undefined)
    return ['The status {status} of this error has no effect: use throw new HttpError({status}, message).', { status }]
  const [, called] = /\bres(?:ponse)?\b.*\.(status|headers|body) is not a function$/i.exec(messageOfError(error)) ?? []
  if (called !== undefined)
    return [
      'A response has {called} as a property: use the options of its function, as in Response.json(data, { status: 404 }).',
      { called: `"${called}"` },
    ]
  const right = adviseOnModuleName(messageOfError(error))
  if (right !== undefined) return [`Sources are ES modules: ${right}.`]
  if (typeof error !== 'object') return ['The thrown value has no stack: use throw new Error(message).']
  const file = readProperty(error, 'path')
  switch (readProperty(error, 'code')) {
    case 'ECONNREFUSED':
      return ['No program listens at this address: start it, or correct the address.']
    case 'ENOENT':
      return typeof file !== 'string' || path.isAbsolute(file)
        ? undefined
        : ["The path is relative to {folder}: use path.join(app.directory, '{file}').", { folder: process.cwd(), file }]
    default:
      return undefined
  }
}

/** What a route may declare instead, if it is meant to accept a refused input, and the values of this message. */
function adviseOnInput(error: HttpError, request: Request): [message: string, context?: LogContext] | undefined {
  const field = findNumber(error, request)
  if (field !== undefined) return [numberAdvice, { field }]
  if (error.code === BODY_TOO_LARGE.code)
    return ['a larger body needs "_body_limit" in the defaults of the route, such as { _body_limit: 10_000_000 }.']
  if (error.code === KERNEL_QUERY_VALUE_MISSING.code)
    return ['a value that may be missing has a fallback, as in queryValue(asInteger, 1).']
  return undefined
}

/** A field that is the text of a number, and that a schema refuses because it is a text. */
function findNumber({ members }: HttpError, { body, query }: Request): string | undefined {
  const issues = Array.isArray(members.errors) ? members.errors : []
  for (const { detail, parameter, pointer } of issues) {
    const name = parameter ?? String(pointer).slice('#/'.length)
    const value = parameter === undefined ? body.peek().form?.get(name) : query.get(name)
    if (typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value) && wantsNumber.test(detail)) return name
  }
  return undefined
}

/** As valibot, zod and ArkType say it. */
const wantsNumber =
  /expected (?:number|integer|bigint)\b.* received (?:string|")|must be (?:a number|an integer) \(was (?:a string|")/i

const numberAdvice =
  'its schema wants a number for "{field}", but fields of forms and queries are texts: convert it, as v.pipe(v.string(), v.transform(Number), v.number()) and z.coerce.number() do.'

function respond(event: ExceptionEvent, response: Response): void {
  // The RemoveCspListener reads this attribute.
  event.request.attributes.set('_remove_csp_headers', true)
  event.respond(response)
}

/** The status that an error has in other frameworks. */
function readStatus(error: unknown): number | undefined {
  const statuses = ['status', 'statusCode'].map(name => Number(readProperty(error, name)))
  return statuses.find(status => Number.isInteger(status) && status >= 400 && status <= 599)
}

/** Whether a user has to correct values, or a page of another origin has sent the request: both are usual. */
function isRefusedInput({ code, status }: HttpError): boolean {
  return status === 422 || code === HTTP_CROSS_ORIGIN.code
}

/**
 * Whether the request has no route, no login (401), or a check refused it: scanners and broken clients cause these
 * errors. The codes of checks begin with `HTTP_`; `HTTP_ERROR` is the code of an HttpError without its own code.
 */
function isMissOrRefusal({ code, status }: HttpError): boolean {
  if (status === 401 || code === KERNEL_NO_ROUTE.code || code === KERNEL_METHOD_NOT_ALLOWED.code) return true
  return code.startsWith('HTTP_') && code !== 'HTTP_ERROR' && isClientError(status)
}

/** The format of the route; for a sub-request without a route, the format of its parent. */
function findFormat(request: Request): string | undefined {
  for (let current: Request | undefined = request; current !== undefined; current = current.parent) {
    if (current.attributes.has('_format')) return current.attributes.get('_format')
  }
  return undefined
}

/** Writes the file and the line of a frame, such as `list.ts line 12`. */
function toPlace({ file, line }: Partial<StackFrame> = {}): string | undefined {
  return file === undefined ? undefined : `${file.split(/[\\/]/).at(-1)} line ${line}`
}

function readController({ attributes }: Request): string {
  return nameOfController(attributes.get('_controller'), attributes.get('_route') ?? 'none')
}
