import { Readable } from 'node:stream'
import { currentRequest, defineController, routeParameter } from '../../../../kernel/controller.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { Signals } from '../../../../lib/signals.ts'
import { parseListRequest } from '../../insight/list-request.ts'
import { home } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { matchFilter } from '../../store/match-filter.ts'
import type { ProfileFilter, ProfileStorage } from '../../store/profile-storage.ts'
import type { Assets } from '../assets.ts'
import { PROFILER_ASSET_UNKNOWN } from './errors.ts'
import { type PageRoute, protect } from './page-services.ts'

/** For ever, as the name changes with the content; not in caches that others use. */
const assetCaching = 'private, max-age=31536000, immutable'

/** Whatever compresses waits for more than one event. */
const liveCaching = 'no-store, no-transform'

/** Creates what pages need beside records, and what nobody has to wait for: their files, and the news of new records. */
export function createSupplyRoutes(assets: Assets, live: LiveStreams): PageRoute[] {
  return [
    {
      name: '_profiler_asset',
      path: `${home}assets/:version/:file`,
      controller: defineController(
        'profiler_asset',
        [routeParameter('version'), routeParameter('file')],
        (version, name) => {
          const asset = assets.find(version, name)
          if (asset === undefined) throw new PROFILER_ASSET_UNKNOWN([name])
          const headers = { 'content-type': asset.type, 'cache-control': assetCaching }
          return protect(new Response(asset.content, { headers }))
        },
      ),
    },
    {
      name: '_profiler_live',
      path: `${home}live`,
      controller: defineController('profiler_live', [currentRequest], ({ query }) => {
        const headers = { 'content-type': 'text/event-stream; charset=UTF-8', 'cache-control': liveCaching }
        return protect(Response.stream(live.create(parseListRequest(query).query.filters), { headers }))
      }),
    },
  ]
}

/** What streams tell of, and when they have to end. */
export interface LiveServices {
  readonly storage: Pick<ProfileStorage, 'tail'>
  readonly signals: Pick<Signals, 'on'>
  /** Milliseconds between two signs of life, without which nobody notices that the other side is gone; 15,000 unless told else. */
  readonly heartbeat?: number
}

/**
 * Streams of server-sent events (HTML Standard, section 9.2) that tell of new records, of all processes: `records` with
 * their tokens, or `reload` when there are too many to name. They end when the server stops, which would wait for them.
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

  /** How many are being read. */
  get size(): number {
    return this.#open.size
  }

  /** Makes a stream for records that meet all conditions; nothing is done before somebody reads it. */
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

/** Milliseconds: sub-requests are kept just before the request that they belong to. */
const delay = 100

/** Bytes that may wait for a reader: more than one event has. */
const bufferLimit = 1024

/** More than this are not named. */
const tokenLimit = 100

interface LiveStreamOptions {
  readonly heartbeat: number
  /** Begins to tell of records; returns what ends that. */
  readonly onStart: (stream: LiveStream) => () => void
  readonly onEnd: (stream: LiveStream) => void
}

/** What a reader has not taken yet is no more than a few tokens: a slow one is told that there were many. */
class LiveStream extends Readable {
  readonly #options: LiveStreamOptions
  readonly #tokens = new Set<string>()
  #hasLost = false
  /** Whether the reader has taken everything so far. */
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
    this.#timer ??= setTimeout(() => this.#tell(), delay).unref()
  }

  /** Ends it at once: a reader that is behind is cut off. */
  finish(): void {
    if (this.#isWanted) this.push(null)
    else this.destroy(new Error('The server stops, and the reader of a live stream is behind.'))
  }

  override _read(): void {
    this.#isWanted = true
    if (this.#stop === undefined) this.#start()
    else if (this.#timer === undefined) this.#tell()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stop?.()
    clearTimeout(this.#timer)
    clearInterval(this.#heart)
    this.#options.onEnd(this)
    done(error)
  }

  #start(): void {
    // At once: until there is something to send, not even the head of the response is sent.
    this.#send(': live\n\n')
    this.#heart = setInterval(() => this.#send(':\n\n'), this.#options.heartbeat).unref()
    this.#stop = this.#options.onStart(this)
  }

  #tell(): void {
    this.#timer = undefined
    if (!this.#isWanted || this.#tokens.size === 0) return
    const text = this.#hasLost
      ? 'event: reload\ndata: many\n\n'
      : `event: records\ndata: ${[...this.#tokens].join(' ')}\n\n`
    this.#tokens.clear()
    this.#hasLost = false
    this.#send(text)
  }

  #send(text: string): void {
    if (this.#isWanted) this.#isWanted = this.push(text)
  }
}
