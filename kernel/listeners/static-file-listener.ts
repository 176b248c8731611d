import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { createFileResponse } from '../../lib/http/file-response.ts'
import type { StaticFiles } from '../../lib/http/static-files.ts'
import { RequestEvent } from '../events/request-event.ts'

/** Before routing, which costs more than a look at the list of files. */
const priority = 48

/** Answers requests for static files. A URL with the file's version may be kept for ever; any other is asked for again. */
export class StaticFileListener {
  readonly #files: StaticFiles

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

  async #answer(event: RequestEvent, file: string): Promise<void> {
    const isVersioned = event.request.query.get('v') === this.#files.version(file)
    const cacheControl = isVersioned ? 'public, max-age=31536000, immutable' : 'public, no-cache'
    event.respond(await createFileResponse(event.request, file, cacheControl))
  }
}
