import { createHash } from 'node:crypto'
import type { Headers } from './headers.ts'

/** The strong entity tag of bytes, or of a text in UTF-8: 128 bits of their SHA-256, in quotes. */
export function createEtag(body: string | Uint8Array): string {
  return `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`
}

/** Makes an etag say that the body means the same, and no longer that each byte is (RFC 9110, section 8.8.1). */
export function weakenEtag(headers: Headers): void {
  const etag = headers.get('etag')
  if (etag?.startsWith('"')) headers.set('etag', `W/${etag}`)
}
