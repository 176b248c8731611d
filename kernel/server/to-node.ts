import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { discard } from '../../lib/http/discard.ts'
import type { Response } from '../../lib/http/response.ts'
import { isBodiless } from '../../lib/http/status.ts'

/** Is told why a response was cut off. */
export type OnProblem = (problem: string) => void

/**
 * Sends a response. The only place that computes a Content-Length: of a text or bytes always, of a stream never: whoever
 * knows it sets it, and when it turns out to be wrong the connection is cut off. HEAD gets the headers of GET; 204 and
 * 304 have no body and no length (RFC 9110, section 8.6).
 */
export function toNode(response: Response, target: ServerResponse, onProblem: OnProblem): void {
  const { body, headers, status } = response
  if (isBodiless(status)) {
    headers.delete('content-length')
    discard(body)
    writeHead(target, response)
    target.end()
    return
  }
  if (body instanceof Readable) {
    writeHead(target, response)
    sendStream(body, target, headers.get('content-length'), onProblem)
    return
  }
  headers.set('content-length', String(body === null ? 0 : Buffer.byteLength(body)))
  writeHead(target, response)
  // Node itself leaves the body of an answer to HEAD away.
  target.end(body ?? undefined)
}

function writeHead(target: ServerResponse, { headers, status }: Response): void {
  // A flat list of names and values: node takes it as it is.
  target.writeHead(status, headers.toRaw() as string[])
}

/** A stream that fails, or a client that leaves, ends both: what was sent so far cannot be taken back. */
function sendStream(body: Readable, target: ServerResponse, length: string | null, onProblem: OnProblem): void {
  if (target.req.method === 'HEAD') {
    discard(body)
    target.end()
    return
  }
  target.on('close', () => discard(body))
  body.on('error', () => target.destroy())
  if (length !== null) {
    keepToLength(body, Number(length), problem => {
      onProblem(problem)
      target.destroy()
    })
  }
  body.pipe(target)
}

/** What is longer would be read as the next response, what is shorter waited for (RFC 9112, section 6.3). */
function keepToLength(body: Readable, length: number, fail: (problem: string) => void): void {
  let left = length
  body.on('data', (chunk: string | Uint8Array) => {
    left -= Buffer.byteLength(chunk)
    if (left < 0) fail(`it is longer than its Content-Length of ${length}`)
  })
  body.on('end', () => {
    if (left > 0) fail(`it is ${left} bytes shorter than its Content-Length of ${length}`)
  })
}
