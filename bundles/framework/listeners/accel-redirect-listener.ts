import { realpathSync } from 'node:fs'
import path from 'node:path'
import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { FileResponse } from '../../../lib/http/controller-file.ts'
import { discard } from '../../../lib/http/response.ts'

/** After listeners that read the body, and before compression. */
const priority = -1050

/** Headers that nginx makes for the file itself. */
const fileHeaders = ['accept-ranges', 'content-length', 'content-range', 'etag', 'last-modified']

/** A folder whose files nginx sends, and the path of its internal location. */
export interface AccelRedirect {
  readonly folder: string
  readonly location: string
}

/**
 * Lets nginx send the files of controllers, by X-Accel-Redirect: it decides on conditions and ranges. Registered only with
 * the setting ACCEL_REDIRECT.
 */
export class AccelRedirectListener {
  readonly #redirects: readonly AccelRedirect[]

  /** Folders are relative to the directory of the application. */
  constructor(redirects: readonly AccelRedirect[], directory: string) {
    this.#redirects = redirects.map(({ folder, location }) => ({
      folder: `${toRealPath(path.resolve(directory, folder))}${path.sep}`,
      location,
    }))
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ isMainRequest, response }: ResponseEvent): void {
    // A temporary file would be deleted before nginx has opened it.
    if (!isMainRequest || !(response instanceof FileResponse) || response.isTemporary) return
    const file = toRealPath(response.file)
    const redirect = this.#redirects.find(({ folder }) => file.startsWith(folder))
    if (redirect === undefined) return
    discard(response.body)
    response.body = null
    response.status = 200
    for (const name of fileHeaders) response.headers.delete(name)
    response.headers.set('content-type', response.contentType)
    const segments = file.slice(redirect.folder.length).split(path.sep)
    response.headers.set('x-accel-redirect', `${redirect.location}/${segments.map(encodeURIComponent).join('/')}`)
  }
}

/** The path without symbolic links. A path that does not exist stays as it is. */
function toRealPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}
