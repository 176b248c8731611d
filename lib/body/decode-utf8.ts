import { BODY_TEXT_INVALID } from './errors.ts'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes text without replacing anything; a byte order mark stays. @throws BODY_TEXT_INVALID (400) */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new BODY_TEXT_INVALID([])
  }
}
