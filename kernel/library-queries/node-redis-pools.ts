import { AsyncResource } from 'node:async_hooks'
import { createRequire } from 'node:module'
import path from 'node:path'
import { listenTo, subscribeChannels } from '../../lib/channels.ts'
import type { Caller } from '../../lib/stack/callers.ts'
import type { WatchServices } from './watch-channels.ts'

/** The part of the class of a pool that is used. */
interface Pool {
  readonly idleClients: number
  execute(task: (client: unknown) => unknown): Promise<unknown>
}

const require = createRequire(import.meta.url)

/** The main module of the package, which exports the class. */
const clientModule = path.join('node_modules', '@redis', 'client', 'dist', 'index.js')

/**
 * Runs each command that waits for a client of a pool of node-redis in the context of its own request. The pool would run it
 * in that of the request that returns the client, and it publishes nothing when the command begins to wait. So the method of
 * the loaded classes is replaced, until `stop` is called.
 */
export class NodeRedisPools {
  readonly #services: WatchServices
  readonly #restores = new Map<Pool, () => void>()
  readonly #unsubscribe: () => void
  #caller: Caller | undefined

  constructor(services: WatchServices) {
    this.#services = services
    this.#replace()
    // The package may be loaded later. A pool connects before it takes commands.
    this.#unsubscribe = subscribeChannels({
      'tracing:node-redis:connect:start': listenTo<object>(() => this.#replace()),
    })
  }

  /** The place of the code that waited for the client; `undefined` for code that has not waited. */
  get caller(): Caller | undefined {
    return this.#caller
  }

  stop(): void {
    this.#unsubscribe()
    for (const restore of this.#restores.values()) restore()
  }

  #replace(): void {
    for (const [file, loaded] of Object.entries(require.cache)) {
      if (!file.endsWith(clientModule)) continue
      const prototype: Pool | undefined = loaded?.exports.RedisClientPool?.prototype
      if (prototype !== undefined && !this.#restores.has(prototype))
        this.#restores.set(prototype, this.#bind(prototype))
    }
  }

  #bind(prototype: Pool): () => void {
    const { execute } = prototype
    const { callers, context } = this.#services
    const pools = this
    let isStopped = false
    function executeBound(this: Pool, task: (client: unknown) => unknown): Promise<unknown> {
      if (isStopped || this.idleClients > 0) return execute.call(this, task)
      const caller = context.current && callers.find(executeBound)
      const bound = AsyncResource.bind((client: unknown) => {
        pools.#caller = caller
        try {
          return task(client)
        } finally {
          pools.#caller = undefined
        }
      })
      return execute.call(this, bound)
    }
    prototype.execute = executeBound
    return () => {
      isStopped = true
      if (prototype.execute === executeBound) prototype.execute = execute
    }
  }
}
