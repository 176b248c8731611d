import { Readable } from 'node:stream'
import type { Body } from './response.ts'

/** Lets go of a body that nobody reads. */
export function discard(body: Body): void {
  // Without a listener, an error of the stream would end the process.
  if (body instanceof Readable) body.on('error', () => undefined).destroy()
}
