import { once } from 'node:events'
import { ARGUMENT_INVALID } from '../lib/errors/arguments.ts'
import { describeError } from '../lib/errors/flat-error.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import { isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { Logger } from '../lib/log/logger.ts'
import { addOwnPlace } from '../lib/stack/locate-frame.ts'
import { describeValue } from '../lib/text/describe-value.ts'
import type { Application, Bundle, Foundation } from './bundle.ts'
import { checkContributions } from './contributions.ts'
import { KERNEL_BUNDLE_FAILED, KERNEL_BUNDLE_WAITING } from './errors.ts'

/** Milliseconds after which a bundle that is still in `register` is logged. */
const slowTime = 10_000

/** Runs the steps of bundles. The error of a failed step names the bundle and the place in the application; its cause is the thrown value. */
export class BundleSteps {
  readonly #directory: string
  readonly #logger: Logger

  constructor({ directory, logger }: { readonly directory: string; readonly logger: Logger }) {
    this.#directory = directory
    this.#logger = logger
  }

  /** Lets a bundle wrap services. @throws KERNEL_BUNDLE_FAILED */
  decorate(bundle: Bundle, foundation: Foundation): Foundation {
    try {
      const decorated = bundle.decorate?.(foundation) ?? foundation
      const missing = Object.keys(foundation).find(key => !(key in decorated))
      if (missing !== undefined) {
        const mistake = `it must return all services, such as { ...foundation, view }, not ${describeValue(decorated)}`
        throw new ARGUMENT_INVALID(['decorate(foundation)', mistake])
      }
      return decorated
    } catch (error) {
      throw this.#failed(bundle, 'decorate', error)
    }
  }

  /** Registers a bundle, and checks what it has added. @throws KERNEL_BUNDLE_FAILED */
  async register(bundle: Bundle, app: Application): Promise<void> {
    const check = checkContributions(app)
    try {
      const pending = bundle.register(app)
      if (isThenable(pending)) await this.#untilEnd(bundle, pending)
      check()
    } catch (error) {
      throw this.#failed(bundle, 'register', error)
    }
  }

  /** Closes bundles in reverse order. Returns the errors of those that fail. */
  async close(bundles: readonly Bundle[]): Promise<Error[]> {
    const failures: Error[] = []
    for (const bundle of bundles.toReversed()) {
      try {
        await bundle.close?.()
      } catch (error) {
        failures.push(this.#failed(bundle, 'close', error))
      }
    }
    return failures
  }

  /** @throws KERNEL_BUNDLE_WAITING if the process would end, because nothing is left that could settle the promise */
  async #untilEnd({ name }: Bundle, pending: PromiseLike<void>): Promise<void> {
    const slow = setTimeout(() => {
      this.#logger.warning('The bundle "{bundle}" is still in register() after {seconds} seconds.', {
        bundle: name,
        seconds: slowTime / 1000,
      })
    }, slowTime)
    slow.unref()
    const ended = new AbortController()
    const idle = once(process, 'beforeExit', { signal: ended.signal }).then(() => {
      throw new KERNEL_BUNDLE_WAITING([])
    })
    try {
      await Promise.race([pending, idle])
    } finally {
      ended.abort()
      clearTimeout(slow)
    }
  }

  #failed({ name }: Bundle, step: 'decorate' | 'register' | 'close', cause: unknown): Error {
    const reason = cause instanceof HttpError ? cause.message : describeError(cause)
    return new KERNEL_BUNDLE_FAILED([name, step, addOwnPlace(reason, cause, this.#directory)], { cause })
  }
}
