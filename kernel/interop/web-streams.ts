import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** A stream of the web for a stream of node. Nothing is read before the consumer asks for it. */
export function toWebStream(stream: Readable): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => void stream.destroy(),
    },
    // The stream of node has a queue already.
    { highWaterMark: 0 },
  )
}

/** The most bytes of a short body, which is sent with its length. */
const shortLimit = 64 * 1024

/**
 * The content of a stream of the web: bytes, if all of it is there within a turn of the event loop, as for a text or JSON; else a
 * stream of node. Rejects if the stream fails at once.
 */
export async function fromWebStream(stream: ReadableStream<Uint8Array>): Promise<Uint8Array | Readable> {
  const reader = stream.getReader()
  const turn = nextTurn()
  const chunks: Uint8Array[] = []
  let size = 0
  while (size <= shortLimit) {
    const next = reader.read()
    const result = await Promise.race([next, turn])
    if (result === undefined) return toReadable(reader, chunks, next)
    if (result.done) return Buffer.concat(chunks)
    chunks.push(result.value)
    size += result.value.byteLength
  }
  return toReadable(reader, chunks)
}

/** A stream of node for a stream of the web, which is cancelled when the stream of node is destroyed. */
export function toNodeStream(stream: ReadableStream<Uint8Array>): Readable {
  return toReadable(stream.getReader(), [])
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** A stream of chunks that were read already, and of all that follow. `next` is a read that is under way. */
function toReadable(reader: Reader, chunks: Uint8Array[], next?: ReturnType<Reader['read']>): Readable {
  let pending = next
  const readable = new Readable({
    read() {
      const chunk = chunks.shift()
      if (chunk !== undefined) {
        this.push(chunk)
        return
      }
      const read = pending ?? reader.read()
      pending = undefined
      read
        .then(({ done, value }) => void this.push(done ? null : value))
        .catch((error: unknown) => this.destroy(asError(error)))
    },
    destroy(error, callback) {
      // The source may fail to cancel, or never end to: no code waits for it.
      reader.cancel(error).catch(() => undefined)
      callback(error)
    },
  })
  return readable
}

/** A stream of the web may fail with any value. A stream of node that is destroyed without an error does not fail. */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('The stream has failed.', { cause: reason })
}
