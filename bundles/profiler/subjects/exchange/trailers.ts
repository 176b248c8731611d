import type { Trace } from '../../record/trace.ts'

/**
 * Reads what follows the body of a response: the trailers of HTTP, or the last message of a stream of
 * gRPC-web or Connect, which says how the call has ended. Empty if there is none, or if it was not kept.
 */
export function readTrailers(page: Trace['page'], type: string): readonly (readonly [string, unknown])[] {
  const { body = null, endFields: trailers = [] } = page ?? {}
  const [, protocol = '', isText] = /^application\/(grpc-web|connect\+)(-text)?/.exec(type) ?? []
  if (protocol === '' || !(body instanceof Uint8Array)) return trailers
  const end = findLast(isText === undefined ? body : decodeParts(body), protocol === 'grpc-web' ? 0x80 : 0x02)
  if (end === undefined) return trailers
  return [...trailers, ...(protocol === 'grpc-web' ? parseFields(end) : parseEnd(end))]
}

/** Bytes before a message: a byte of flags, and its length. */
const prefix = 5

const compressed = 0x01

/** The text of the message with a flag; `undefined` if there is none, or if it is compressed. */
function findLast(bytes: Uint8Array, flag: number): string | undefined {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = 0
  while (at + prefix <= data.length) {
    const flags = data.readUInt8(at)
    const start = at + prefix
    const end = start + data.readUInt32BE(at + 1)
    if ((flags & flag) !== 0)
      return (flags & compressed) === 0 && end <= data.length ? data.toString('utf8', start, end) : undefined
    at = end
  }
  return undefined
}

/** Each part of the text of gRPC-web may end with padding. */
function decodeParts(bytes: Uint8Array): Uint8Array {
  const parts =
    Buffer.from(bytes)
      .toString('latin1')
      .match(/[^=]+=*/g) ?? []
  return Buffer.concat(parts.map(part => Buffer.from(part, 'base64')))
}

function parseFields(text: string): [string, string][] {
  return text.split('\r\n').flatMap((line): [string, string][] => {
    const at = line.indexOf(':')
    return at === -1 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()]]
  })
}

function parseEnd(text: string): [string, unknown][] {
  try {
    return Object.entries(JSON.parse(text))
  } catch {
    return []
  }
}
