import { KERNEL_METHOD_NOT_ALLOWED, KERNEL_NO_ROUTE } from '../../../kernel/errors.ts'
import { ExceptionEvent } from '../../../kernel/events.ts'
import { flattenError } from '../../../lib/errors/flat-error.ts'
import { HttpError, isClientError } from '../../../lib/errors/http-error.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Logger } from '../../../lib/log/logger.ts'

/** Before anyone has changed the error. */
const logPriority = 0

/** After everyone who may have a better answer. */
const handlePriority = -128

/** The level at which a request is logged that no route takes, or that is refused before routing. */
export type MissLevel = 'error' | 'info'

/** Logs errors, and lets the error controller answer them: a sub-request that is always GET. */
export class ErrorListener {
  readonly #logger: Logger
  readonly #missLevel: MissLevel

  /** A developer wants to see misses; in production, scanners would fill the log with them. */
  constructor(logger: Logger, missLevel: MissLevel) {
    this.#logger = logger.channel('request')
    this.#missLevel = missLevel
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ExceptionEvent, this, 'logException', logPriority)
    dispatcher.subscribe(ExceptionEvent, this, 'onException', handlePriority)
  }

  logException({ error }: ExceptionEvent): void {
    const isMiss = error instanceof HttpError && isMissOrRefusal(error)
    if (isMiss || (error instanceof HttpError && error.status < 500)) {
      const { message, name } = error
      // Where that was noticed is no news.
      this.#logger[isMiss ? this.#missLevel : 'error']('Uncaught {name}: "{message}"', {
        name,
        message,
        exception: error,
      })
      return
    }
    const context = { ...describe(error), exception: error }
    this.#logger.critical('Uncaught {name}: "{message}" at {place}', context)
  }

  async onException(event: ExceptionEvent): Promise<void> {
    const request = event.request.duplicate({ method: 'GET' })
    request.attributes.set('_controller', 'error_controller')
    request.attributes.set('exception', event.error)
    const format = findFormat(event.request)
    if (format !== undefined) request.attributes.set('_format', format)
    const response = await event.kernel.handle(request, { catchErrors: false })
    // Heard by the RemoveCspListener.
    event.request.attributes.set('_remove_csp_headers', true)
    event.respond(response)
  }
}

/**
 * Whether no route takes a request, or a check refused it: scanners and broken clients cause these. Codes of checks begin
 * with `HTTP_`; `HTTP_ERROR` is the code of an HttpError without a code of its own.
 */
function isMissOrRefusal({ code, status }: HttpError): boolean {
  if (code === KERNEL_NO_ROUTE.code || code === KERNEL_METHOD_NOT_ALLOWED.code) return true
  return code.startsWith('HTTP_') && code !== 'HTTP_ERROR' && isClientError(status)
}

/** The format of the route, also when a sub-request without a route of its own has failed. */
function findFormat(request: Request): string | undefined {
  for (let asked: Request | undefined = request; asked !== undefined; asked = asked.parent) {
    if (asked.attributes.has('_format')) return asked.attributes.get('_format')
  }
  return undefined
}

/** Also of what is no error, and cannot even be made a text. */
function describe(error: unknown): { name: string; message: string; place: string } {
  const { frames, message, name } = flattenError(error)
  const file = frames[0]?.file?.split(/[\\/]/).at(-1)
  return { name, message, place: file === undefined ? 'unknown place' : `${file} line ${frames[0]?.line}` }
}
