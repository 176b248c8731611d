import type { Readable } from 'node:stream'
import type { FormData } from './form-data.ts'

/** Where a body comes from. */
export interface BodySource {
  readonly stream: Readable
  /** The declared length in bytes; absent for a chunked body. */
  readonly length?: number
  readonly contentType?: string
  readonly contentEncoding?: string
  /** Called before the first byte is read: the moment to answer `Expect: 100-continue`. */
  readonly onRead?: () => void
}

/** The body of a request: read once, within a limit, when it is first asked for. */
export class RequestBody {
  constructor(source: BodySource | null) {
    void source
  }

  json(): Promise<unknown> {
    throw new Error('not yet')
  }

  text(): Promise<string> {
    throw new Error('not yet')
  }

  formData(): Promise<FormData> {
    throw new Error('not yet')
  }
}
