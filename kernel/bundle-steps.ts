import { ARGUMENT_INVALID } from '../lib/errors/arguments.ts'
import { describeError } from '../lib/errors/flat-error.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import { isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { Logger } from '../lib/log/logger.ts'
import { addOwnPlace } from '../lib/stack/stack-frames.ts'
import { describeValue, isPlainObject } from '../lib/text/describe-value.ts'
import { VIEW_TEMPLATE_INVALID } from '../lib/view/errors.ts'
import type { Application, Bundle, Foundation } from './bundle.ts'
import { ownContributions } from './contracts/contributions.ts'
import { KERNEL_BUNDLE_FAILED, KERNEL_BUNDLE_WAITING } from './errors.ts'
import { adviseOnStep } from './mistakes/service-advice.ts'

/** Milliseconds after which a bundle that is still in `register` or `close` is logged. */
const slowTime = 10_000

interface BundleStepsOptions {
  readonly bundles: readonly Bundle[]
  readonly directory: string
  readonly logger: Logger
}

/**
 * Runs the steps of bundles. The error of a failed step names the bundle and the place in the
 * application; its cause is the thrown value.
 */
export class BundleSteps {
  readonly #bundles: readonly Bundle[]
  readonly #directory: string
  readonly #logger: Logger
  /** The bundles that have begun a step, and are not closed. A step that fails may have opened something before. */
  readonly #begun = new Set<Bundle>()

  constructor({ bundles, directory, logger }: BundleStepsOptions) {
    this.#bundles = bundles
    this.#directory = directory
    this.#logger = logger
  }

  /** Lets a bundle wrap services. @throws KERNEL_BUNDLE_FAILED */
  decorate(bundle: Bundle, foundation: Foundation): Foundation {
    if (bundle.decorate === undefined) return foundation
    this.#begun.add(bundle)
    const note = ownContributions(foundation, bundle.name)
    try {
      const decorated = bundle.decorate(foundation) ?? foundation
      const missing = Object.keys(foundation).find(key => !(key in decorated))
      if (missing !== undefined) {
        const mistake = `it must return all services, such as { ...foundation, view }, not ${describeValue(decorated)}`
        throw new ARGUMENT_INVALID(['decorate(foundation)', mistake])
      }
      note()
      return decorated
    } catch (error) {
      throw this.#failed(bundle, 'decorate', error, foundation)
    }
  }

  /** Registers a bundle, and checks what it has added. @throws KERNEL_BUNDLE_FAILED */
  async register(bundle: Bundle, app: Application): Promise<void> {
    this.#begun.add(bundle)
    const note = ownContributions(app, bundle.name)
    try {
      const pending: unknown = bundle.register(app)
      refuseResult(isThenable(pending) ? await this.#untilEnd(bundle, 'register', pending) : pending)
      note()
    } catch (error) {
      throw this.#failed(bundle, 'register', error instanceof VIEW_TEMPLATE_INVALID ? tooEarly() : error, app)
    }
  }

  /**
   * Closes the bundles that have begun a step, in reverse order, each of them once. Returns the
   * errors of those that fail.
   */
  async close(): Promise<Error[]> {
    const failures: Error[] = []
    for (const bundle of this.#bundles.toReversed()) {
      if (!this.#begun.delete(bundle)) continue
      try {
        const pending = bundle.close?.()
        if (isThenable(pending)) await this.#untilEnd(bundle, 'close', pending)
      } catch (error) {
        failures.push(this.#failed(bundle, 'close', error))
      }
    }
    return failures
  }

  /** @throws KERNEL_BUNDLE_WAITING if the process would end, because nothing is left that could settle the promise */
  async #untilEnd(bundle: Bundle, step: 'register' | 'close', pending: PromiseLike<unknown>): Promise<unknown> {
    const slow = this.#warnWhenSlow(bundle, step)
    let refuse: (() => void) | undefined
    // An abort signal would make an error, which is not possible where prototypes are frozen.
    const idle = new Promise<never>((_, reject) => {
      refuse = () => reject(new KERNEL_BUNDLE_WAITING([]))
      process.once('beforeExit', refuse)
    })
    try {
      return await Promise.race([pending, idle])
    } finally {
      if (refuse !== undefined) process.off('beforeExit', refuse)
      clearTimeout(slow)
    }
  }

  #warnWhenSlow({ name }: Bundle, step: 'register' | 'close'): NodeJS.Timeout {
    const message = `The bundle "{bundle}" is still in ${step}() after {seconds} seconds.`
    return setTimeout(() => {
      this.#logger.warning(message, { bundle: name, seconds: slowTime / 1000 })
    }, slowTime).unref()
  }

  #failed(bundle: Bundle, step: 'decorate' | 'register' | 'close', cause: unknown, services: object = {}): Error {
    const reason =
      cause instanceof HttpError ? cause.message : describeError(cause) + adviseOnStep(cause, services, bundle[step])
    return new KERNEL_BUNDLE_FAILED([bundle.name, step, addOwnPlace(reason, cause, this.#directory)], { cause })
  }
}

/** Other bundles may add the helpers and routes that templates lack. */
function tooEarly(): Error {
  const right = 'render it in a controller, or on the signal kernel.booted'
  return new ARGUMENT_INVALID(['view.render() in register()', `not all bundles have added their helpers: ${right}`])
}

/** Definitions in the result of `register`, or what should close it, would have no effect. @throws ARGUMENT_INVALID */
function refuseResult(result: unknown): void {
  const isFunction = typeof result === 'function'
  if (!isFunction && ![result].flat().some(isPlainObject)) return
  const right = isFunction ? 'what ends its work is close() of the bundle' : 'use app.routes.add(definition)'
  const mistake = `it has returned ${describeValue(result)}, which has no effect: ${right}`
  throw new ARGUMENT_INVALID(['register(app)', mistake])
}
