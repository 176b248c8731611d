import { randomBytes } from 'node:crypto'

/** Nothing that has a meaning in a log line, a header or HTML. */
const safeId = /^[\w.~:+/=@-]{1,128}$/

/** Whether a text is safe as the id of a request: at most 128 letters, digits and `-._~:+/=@`. */
export function isRequestId(text: string): boolean {
  return safeId.test(text)
}

/** The digits of an id. */
const length = 32

/** Bytes for 64 ids: random bytes cost less together. */
const batch = 1024

let digits = ''
let next = 0

/**
 * Creates the id of a request: 32 random hexadecimal digits, as the id of a trace. A random UUID
 * would cost three times as much, because it is joined of many parts.
 */
export function createRequestId(): string {
  if (next === digits.length) {
    digits = randomBytes(batch).toString('hex')
    next = 0
  }
  next += length
  return digits.slice(next - length, next)
}
