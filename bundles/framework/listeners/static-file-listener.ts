import { RequestEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { StaticFileResponses } from '../../../lib/http/file-response.ts'
import type { StaticFile, StaticFiles } from '../../../lib/http/static-files.ts'

/** Before routing, which is slower than the lookup of a file. */
const priority = 48

/** Answers requests for static files. Requests for files that were removed since go to the router. */
export class StaticFileListener {
  readonly #files: StaticFiles
  readonly #responses = new StaticFileResponses()

  constructor(files: StaticFiles) {
    this.#files = files
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest(event: RequestEvent): Promise<void> | undefined {
    const { request } = event
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    const file = this.#files.find(request.path)
    return file === undefined ? undefined : this.#answer(event, file)
  }

  async #answer(event: RequestEvent, file: StaticFile): Promise<void> {
    const response = await this.#responses.create(event.request, file)
    if (response !== undefined) event.respond(response)
  }
}
