import { Readable } from 'node:stream'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import type { Signals } from '../../../lib/signals.ts'
import { parseListRequest } from '../insight/list-request.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileFilter, ProfileStorage } from '../store/profile-storage.ts'
import { matchFilter } from '../store/search-summaries.ts'
import { protect } from './respond.ts'

/** Where live streams get new profiles, and when they end. */
interface LiveServices {
  readonly storage: Pick<ProfileStorage, 'tail'>
  readonly signals: Pick<Signals, 'on'>
  /** Milliseconds between two heartbeats, which detect a client that is gone. The default is 15,000. */
  readonly heartbeat?: number
}

/**
 * Streams of server-sent events (HTML Standard, section 9.2) about new profiles of all processes: `profiles` with their
 * tokens, or `reload` when there are too many. They end when the server stops, because the server waits for open responses.
 */
export class LiveStreams {
  readonly #storage: LiveServices['storage']
  readonly #heartbeat: number
  readonly #open = new Set<LiveStream>()
  #isDraining = false

  constructor({ heartbeat = 15_000, signals, storage }: LiveServices) {
    this.#storage = storage
    this.#heartbeat = heartbeat
    signals.on('server.draining', () => {
      this.#isDraining = true
      for (const stream of this.#open) stream.finish()
    })
  }

  /** How many streams are open. */
  get size(): number {
    return this.#open.size
  }

  /** Answers with a stream of the profiles that the list of the same address contains. */
  respond({ query }: Request): Response {
    // A compressor waits for more than one event.
    const headers = { 'content-type': 'text/event-stream; charset=UTF-8', 'cache-control': 'no-store, no-transform' }
    return protect(Response.stream(this.create(parseListRequest(query).query.filters), { headers }))
  }

  /** Creates a stream of the profiles that meet all conditions. It starts when it is read. */
  create(filters: readonly ProfileFilter[]): Readable {
    const tests = filters.map(matchFilter)
    return new LiveStream({
      heartbeat: this.#heartbeat,
      onStart: stream => {
        this.#open.add(stream)
        if (this.#isDraining) stream.finish()
        return this.#storage.tail(summary => {
          if (tests.every(matches => matches(summary))) stream.add(summary)
        })
      },
      onEnd: stream => this.#open.delete(stream),
    })
  }
}

/** Milliseconds between a profile and its event: sub-requests are stored just before the request that they belong to. */
const delay = 100

/** Bytes that may wait for the client: more than one event has. */
const bufferLimit = 1024

/** The most tokens of one event. */
const tokenLimit = 100

interface LiveStreamOptions {
  readonly heartbeat: number
  /** Subscribes the stream to new profiles; returns the function that unsubscribes it. */
  readonly onStart: (stream: LiveStream) => () => void
  readonly onEnd: (stream: LiveStream) => void
}

/** One client. At most a few tokens wait for it: a slow client gets `reload`. */
class LiveStream extends Readable {
  readonly #options: LiveStreamOptions
  readonly #tokens = new Set<string>()
  #hasLost = false
  /** Whether the client has read everything so far. */
  #isWanted = false
  #stop: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #heart: NodeJS.Timeout | undefined

  constructor(options: LiveStreamOptions) {
    super({ highWaterMark: bufferLimit })
    this.#options = options
  }

  add({ token }: ProfileSummary): void {
    if (this.#tokens.size === tokenLimit) this.#hasLost = true
    else this.#tokens.add(token)
    this.#timer ??= setTimeout(() => this.#sendTokens(), delay).unref()
  }

  /** Ends the stream at once; a client that is behind gets no end. */
  finish(): void {
    if (this.#isWanted) this.push(null)
    else this.destroy(new Error('The server stops, and the client of a live stream is behind.'))
  }

  override _read(): void {
    this.#isWanted = true
    if (this.#stop === undefined) this.#start()
    else if (this.#timer === undefined) this.#sendTokens()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stop?.()
    clearTimeout(this.#timer)
    clearInterval(this.#heart)
    this.#options.onEnd(this)
    done(error)
  }

  #start(): void {
    // Without a body, the head of the response is not sent.
    this.#send(': live\n\n')
    this.#heart = setInterval(() => this.#send(':\n\n'), this.#options.heartbeat).unref()
    this.#stop = this.#options.onStart(this)
  }

  #sendTokens(): void {
    this.#timer = undefined
    if (!this.#isWanted || this.#tokens.size === 0) return
    const text = this.#hasLost
      ? 'event: reload\ndata: many\n\n'
      : `event: profiles\ndata: ${[...this.#tokens].join(' ')}\n\n`
    this.#tokens.clear()
    this.#hasLost = false
    this.#send(text)
  }

  #send(text: string): void {
    if (this.#isWanted) this.#isWanted = this.push(text)
  }
}
