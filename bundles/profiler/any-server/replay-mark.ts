import { timingSafeEqual } from 'node:crypto'
import type { ServerMessage } from '../../../kernel/contracts/servers.ts'
import type { Headers } from '../../../lib/http/headers.ts'
import { isToken } from '../profile/json.ts'

/**
 * The header field by which the profiler marks a replay that it sends to an application: a secret,
 * which only the processes of the application know, and the token of the original profile.
 */
export const replayHeader = 'x-profiler-replay'

/** Writes the mark of a replay. */
export function writeReplayMark(secret: string, token: string): string {
  return `${secret} ${token}`
}

/**
 * Takes the mark of a replay away from a message, so that the application does not see it.
 * `headers` are those of the message. Returns the token of the original profile; `undefined` if
 * the message has no mark with the secret, and then nothing is changed.
 */
export function takeReplayMark(message: ServerMessage, headers: Headers, secret: string): string | undefined {
  const mark = headers.get(replayHeader)
  if (mark === null) return undefined
  const [sent = '', token] = mark.split(' ')
  if (!isEqual(sent, secret) || !isToken(token)) return undefined
  headers.delete(replayHeader)
  const { rawHeaders } = message
  // Node makes these objects of the raw fields when they are first read. A message of HTTP/2 does
  // not have the second one.
  const { headers: joined, headersDistinct } = message as typeof message & { readonly headersDistinct?: object }
  for (const fields of [joined, headersDistinct]) if (fields !== undefined) Reflect.deleteProperty(fields, replayHeader)
  rawHeaders.splice(
    rawHeaders.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === replayHeader),
    2,
  )
  return token
}

function isEqual(sent: string, secret: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(secret)]
  return one.length === other.length && timingSafeEqual(one, other)
}
