import { AsyncLocalStorage } from 'node:async_hooks'
import { listenTo, subscribeChannels } from '../lib/guard.ts'
import type { Request } from '../lib/http/request.ts'

/**
 * The request that the running code works for, also after an `await`. No other state of a request is global.
 * It costs 4 to 13 % of the CPU time of a small request on Node 20, so it is off until a bundle enables it.
 */
export class RequestContext {
  #storage: AsyncLocalStorage<Request | undefined> | undefined

  /**
   * The carrier of the work of code that works for no request, such as a script. In a module that
   * is loaded before a script, `enter` does not reach it on Node 24.
   */
  outside: Request | undefined

  /** Enables the context for all later requests. */
  enable(): void {
    this.#storage ??= new AsyncLocalStorage()
  }

  /**
   * Ends the context for all code, also for code that still runs. On Node 20, each context that
   * has not ended makes each `await` of the process slower.
   */
  end(): void {
    this.#storage?.disable()
    this.#storage = undefined
  }

  /** The current request; `undefined` outside of a request, and before `enable()`. */
  get current(): Request | undefined {
    return this.#storage?.getStore() ?? this.outside
  }

  /** Runs a task with this request as the current one. The value for the task saves a closure. */
  run<result>(request: Request, task: () => result): result
  run<value, result>(request: Request, task: (value: value) => result, value: value): result
  run<value, result>(request: Request, task: (value?: value) => result, value?: value): result {
    return this.#storage === undefined ? task(value) : this.#storage.run(request, task, value)
  }

  /**
   * Carries requests across the pool of a library: the code that the library runs between the
   * messages `asyncStart` and `asyncEnd` of a channel has the request that `find` returns as the
   * current one. No function runs it, so stacks have no frame. The returned function ends this.
   */
  carry(name: string, find: (message: unknown) => Request | undefined): () => void {
    const outer = new WeakMap<object, Request | undefined>()
    return subscribeChannels({
      [`${name}:asyncStart`]: listenTo<object>(message => {
        outer.set(message, this.current)
        this.enter(find(message))
      }),
      [`${name}:asyncEnd`]: listenTo<object>(message => this.enter(outer.get(message))),
    })
  }

  /**
   * The rest of the running code works for this request, or for none: its library has called it
   * while another request ran, or before any.
   */
  enter(request: Request | undefined): void {
    this.#storage?.enterWith(request)
  }
}
