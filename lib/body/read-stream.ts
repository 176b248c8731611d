import { finished } from 'node:stream'
import type { BodySource } from './body-source.ts'
import { BODY_TOO_LARGE, BODY_TRUNCATED } from './errors.ts'

/**
 * Hands the chunks of a body to `take` and resolves at its end; a promise from `take` holds the stream until it is kept.
 * Whatever the outcome, the stream is left paused and undestroyed. Aborting the signal rejects with its reason.
 * @throws BODY_TOO_LARGE (413) by the declared length before anything is read, else once `limit` bytes are exceeded
 * @throws BODY_TRUNCATED (400) when the stream fails, closes early, or ends before its declared length
 */
export function readStream(
  { stream, length = 0, onRead }: BodySource,
  limit: number,
  take: (chunk: Uint8Array) => Promise<void> | undefined,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (length > limit) return reject(new BODY_TOO_LARGE([limit]))
    // Whoever drains it has taken the beginning.
    if (stream.readableDidRead) return reject(new BODY_TRUNCATED([]))

    let count = 0
    let isSettled = false
    const settle = (conclude: () => void) => {
      isSettled = true
      stream.off('data', onData)
      stream.pause()
      cleanUp()
      signal?.removeEventListener('abort', onAbort)
      conclude()
    }
    const fail = (reason: unknown) => settle(() => reject(reason))
    const onAbort = () => fail(signal?.reason)
    const onData = (chunk: Uint8Array) => {
      count += chunk.length
      if (count > limit) return fail(new BODY_TOO_LARGE([limit]))
      const pending = take(chunk)
      if (pending === undefined || isSettled) return
      stream.pause()
      pending.then(() => isSettled || stream.resume(), fail)
    }
    // A stream that nobody reads to its end may still fail later, with nobody else to hear it.
    stream.on('error', ignore)
    const cleanUp = finished(stream, { writable: false }, cause => {
      if (cause) fail(new BODY_TRUNCATED([], { cause }))
      else if (count < length) fail(new BODY_TRUNCATED([]))
      else settle(resolve)
    })
    signal?.addEventListener('abort', onAbort)
    onRead?.()
    stream.on('data', onData)
  })
}

function ignore(): void {}
