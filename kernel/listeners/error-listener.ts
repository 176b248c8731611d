import { HttpError } from '../../lib/errors/http-error.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { parseStack } from '../../lib/stack/parse-stack.ts'
import { ExceptionEvent } from '../events/exception-event.ts'
import { RequestType } from '../request-type.ts'

/** Before anyone has changed the error. */
const logPriority = 0

/** After everyone who may have a better answer. */
const handlePriority = -128

/** Logs errors, and lets the error controller answer them: a sub-request that is always GET. */
export class ErrorListener {
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger.channel('request')
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ExceptionEvent, this, 'logException', logPriority)
    dispatcher.subscribe(ExceptionEvent, this, 'onException', handlePriority)
  }

  logException({ error }: ExceptionEvent): void {
    const status = error instanceof HttpError ? error.status : 500
    const context = { ...describe(error), exception: error }
    const message = 'Uncaught {name}: "{message}" at {place}'
    if (status >= 500) this.#logger.critical(message, context)
    else this.#logger.error(message, context)
  }

  async onException(event: ExceptionEvent): Promise<void> {
    const request = event.request.duplicate({ method: 'GET' })
    request.attributes.set('_controller', 'error_controller')
    request.attributes.set('exception', event.error)
    request.attributes.set('logger', this.#logger)
    const response = await event.kernel.handle(request, RequestType.Sub, false)
    // Heard by the RemoveCspListener.
    event.request.attributes.set('_remove_csp_headers', true)
    event.respond(response)
  }
}

function describe(error: unknown): { name: string; message: string; place: string } {
  if (!(error instanceof Error)) return { name: 'value', message: String(error), place: 'unknown place' }
  const frame = parseStack(error)[0]
  const file = frame?.file?.split(/[\\/]/).at(-1)
  return { name: error.name, message: error.message, place: file ? `${file} line ${frame?.line}` : 'unknown place' }
}
