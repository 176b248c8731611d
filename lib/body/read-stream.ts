import { finished } from 'node:stream'
import type { BodySource } from './body-source.ts'
import { BODY_TOO_LARGE, BODY_TRUNCATED } from './errors.ts'

/**
 * Hands the chunks of a body to `take`, one after the other, and resolves at its end; a promise from `take` holds the
 * stream until it is kept. Whatever the outcome, no `take` is under way any more, and the stream is left paused and
 * undestroyed.
 * @throws BODY_TOO_LARGE (413) by the declared length before anything is read, else once `limit` bytes are exceeded
 * @throws BODY_TRUNCATED (400) when the stream fails, closes early, or ends before its declared length
 */
export function readStream(
  { stream, length = 0, onRead }: BodySource,
  limit: number,
  take: (chunk: Uint8Array) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (length > limit) return reject(new BODY_TOO_LARGE([limit]))
    // Someone else, who drains it perhaps, has the beginning.
    if (stream.readableDidRead) return reject(new BODY_TRUNCATED([]))

    let count = 0
    let isSettled = false
    let taking: Promise<void> | undefined
    const settle = (conclude: () => void, onTakingFailed: (reason: unknown) => void = conclude) => {
      isSettled = true
      stream.off('data', onData)
      stream.pause()
      cleanUp()
      if (taking === undefined) conclude()
      else taking.then(conclude, onTakingFailed)
    }
    const fail = (reason: unknown) => settle(() => reject(reason))
    const onData = (chunk: Uint8Array) => {
      count += chunk.length
      if (count > limit) return fail(new BODY_TOO_LARGE([limit]))
      taking = take(chunk)
      if (taking === undefined) return
      stream.pause()
      taking.then(() => {
        taking = undefined
        if (!isSettled) stream.resume()
      }, fail)
    }
    // A stream that is not read to its end may still fail later, with nobody else to hear it.
    stream.on('error', ignore)
    const cleanUp = finished(stream, { writable: false }, cause => {
      if (cause) fail(new BODY_TRUNCATED([], { cause }))
      else if (count < length) fail(new BODY_TRUNCATED([]))
      // The end may be told while its last chunk is still being taken.
      else settle(resolve, reject)
    })
    onRead?.()
    stream.on('data', onData)
  })
}

function ignore(): void {}
