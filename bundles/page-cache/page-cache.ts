import path from 'node:path'
import type { Application, Bundle } from '../../kernel/bundle.ts'
import { type BundleSettings, defineSettings } from '../../lib/env/settings.ts'
import { ARGUMENT_INVALID, checkOptions } from '../../lib/errors/arguments.ts'
import { isShared } from '../../lib/http/cache-policy.ts'
import { asRedisUrl, type Conversion } from '../../lib/text/conversion.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import { suggestNames } from '../../lib/text/mistakes.ts'
import type { PageCacheListener } from './page-cache-listener.ts'
import type { PageStore } from './page-store.ts'

/** The options of {@link createPageCache}. */
export interface PageCacheOptions {
  /** The most bytes in memory or in files; 64 MiB by default. Redis has its own limit. */
  readonly bytes?: number
}

/**
 * Creates the bundle that stores the pages of routes with a public cache policy, for all clients:
 * in memory, in files or in Redis, by the setting `PAGE_CACHE`. @throws ARGUMENT_INVALID
 */
export function createPageCache(options: PageCacheOptions = {}): PageCache {
  checkOptions('createPageCache()', options, { bytes: 'number' })
  const { bytes = 64 * 1024 * 1024 } = options
  if (!Number.isInteger(bytes) || bytes < 1) {
    throw new ARGUMENT_INVALID(['createPageCache()', `"bytes" is ${bytes}: use a whole number, from 1`])
  }
  return new PageCache(bytes)
}

/** A bundle, and what removes its pages. */
export class PageCache implements Bundle {
  readonly name = 'page-cache'
  readonly settings: BundleSettings = pageCacheSettings
  readonly #bytes: number
  #listener: PageCacheListener | undefined
  #store: PageStore | undefined
  #logger: Application['logger'] | undefined

  constructor(bytes: number) {
    this.#bytes = bytes
  }

  async register(app: Application): Promise<void> {
    const { config, dispatcher, logger, routes, signals } = app
    this.#store = await createStore(app, this.#bytes)
    // An application without the bundle loads none of these modules.
    const { PageCacheListener } = await import('./page-cache-listener.ts')
    const listener = new PageCacheListener({ store: this.#store, logger })
    this.#listener = listener
    if (config.isDebug) this.#logger = logger
    listener.subscribe(dispatcher)
    const clear = () => void this.clear().catch(exception => logger.warning('Pages are not purged.', { exception }))
    const place = app.settings.of(pageCacheSettings).PAGE_CACHE
    // Pages of another version may refer to files that are gone.
    signals.on('server.listening', ({ worker }) => {
      if (worker === 1) clear()
      else if (worker === 2 && place === 'memory') logger.warning(severalWorkers)
    })
    if (config.isDebug) signals.on('files.changed', clear)
    signals.on('kernel.booted', () => {
      if (![...routes].some(({ defaults }) => isShared(defaults._cache || {}))) logger.warning(noPages)
    })
  }

  /** Removes the pages with one of the tags that controllers have set as `Cache-Tag`. @throws ARGUMENT_INVALID */
  async purge(...tags: readonly string[]): Promise<void> {
    const wrong = tags.find(tag => typeof tag !== 'string' || !/^[^\s,](?:[^,\n]*[^\s,])?$/.test(tag))
    if (wrong !== undefined) {
      const mistake = `a tag is a text without commas, such as "event-7", not ${describeValue(wrong)}`
      throw new ARGUMENT_INVALID(['pages.purge(...tags)', mistake])
    }
    await this.#purge(tags)
    const tag = this.#logger && this.#listener?.findUnknown(tags)
    if (tag === undefined) return
    // A tag is right, too, if its page was not wanted yet. A path is not.
    const log = tag.startsWith('/') ? 'warning' : 'info'
    this.#logger?.[log](unknownTag, { tag, suggestion: suggestNames(tag, this.#listener?.tags ?? []) })
  }

  /** Removes all pages: each has the tag `*`. */
  clear(): Promise<void> {
    return this.#purge(['*'])
  }

  async #purge(tags: readonly string[]): Promise<void> {
    if (this.#listener === undefined) {
      throw new ARGUMENT_INVALID(['pages.purge(...tags)', 'the page cache is not in the list of bundles'])
    }
    await this.#listener.purge(tags)
  }

  close(): Promise<void> | void {
    return this.#store?.close?.()
  }
}

const unknownTag =
  'pages.purge("{tag}") takes tags, and since the start no page of this process has had this one: controllers set tags as Cache-Tag{suggestion}.'

const noPages =
  'The page cache stores nothing: no route or group has a public policy, such as defaults: { _cache: { sMaxAge: 60 } }.'

const severalWorkers =
  'Each worker has stored pages of its own, and pages.purge() reaches those of one: set PAGE_CACHE=files, or the URL of a Redis.'

async function createStore({ directory, logger, settings }: Application, bytes: number): Promise<PageStore> {
  const { PAGE_CACHE: place } = settings.of(pageCacheSettings)
  if (place === 'memory') {
    const { MemoryPageStore } = await import('./page-store.ts')
    return new MemoryPageStore(bytes)
  }
  if (place === 'files') {
    const { FilePageStore } = await import('./file-page-store.ts')
    return new FilePageStore(path.join(directory, 'var/pages'), bytes)
  }
  const { RedisPageStore } = await import('./redis-page-store.ts')
  const { loadRedis } = await import('../../lib/redis/redis-connection.ts')
  // The mistake of a missing package ends the start.
  await loadRedis()
  return new RedisPageStore(place, logger)
}

const asPlace: Conversion<string> = {
  expected: `memory, files, or ${asRedisUrl.expected}`,
  convert: text => (['memory', 'files'].includes(text) ? text : asRedisUrl.convert(text)),
}

const pageCacheSettings: BundleSettings<{ readonly PAGE_CACHE: string }> = defineSettings({
  /** Each worker has a memory of its own; files are for the workers of a machine, Redis for all machines. */
  PAGE_CACHE: {
    help: 'stores pages for all clients: memory, files (var/pages), or redis://host:6379 for several machines',
    schema: asPlace,
    default: 'memory',
    secret: true,
  },
})
