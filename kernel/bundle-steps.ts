import { once } from 'node:events'
import { ARGUMENT_INVALID } from '../lib/errors/arguments.ts'
import { describeError } from '../lib/errors/flat-error.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import { isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { Logger } from '../lib/log/logger.ts'
import { addOwnPlace } from '../lib/stack/locate-frame.ts'
import { readProperty } from '../lib/stack/read-property.ts'
import { describeValue, isKeyed } from '../lib/text/describe-value.ts'
import { findShapeMistakes, type ShapeOf } from '../lib/text/shape.ts'
import type { Application, Bundle, Explainer, Foundation, HealthCheck } from './bundle.ts'
import type { ConsoleCommand } from './console-command.ts'
import { KERNEL_BUNDLE_FAILED, KERNEL_BUNDLE_WAITING, KERNEL_CONTRIBUTION_INVALID } from './errors.ts'
import type { Collector, FindingRule } from './profiler-contract.ts'

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

/** Objects that bundles add to a list of the application: their shape, of which some keys are required. */
interface Kind<type> {
  readonly noun: string
  readonly list: (app: Application) => readonly unknown[]
  readonly shape: ShapeOf<type>
  readonly required: readonly (keyof type)[]
}

const kinds: readonly [Kind<ConsoleCommand>, Kind<HealthCheck>, Kind<Collector>, Kind<FindingRule>, Kind<Explainer>] = [
  {
    noun: 'command',
    // A function loads commands when the console runs.
    list: ({ commands }) => commands.filter(each => typeof each !== 'function'),
    shape: {
      name: 'string',
      description: 'string',
      arguments: [
        { name: 'string', description: 'string', isOptional: 'boolean', choices: ['string'], suggest: 'function' },
      ],
      options: [{ name: 'string', description: 'string', value: 'string', choices: ['string'], suggest: 'function' }],
      examples: [{ line: 'string', purpose: 'string' }],
      run: 'function',
    },
    required: ['name', 'description', 'run'],
  },
  {
    noun: 'health check',
    list: ({ healthChecks }) => healthChecks,
    shape: { name: 'string', timeout: 'number', check: 'function' },
    required: ['name', 'check'],
  },
  {
    noun: 'collector',
    list: ({ collectors }) => collectors,
    shape: {
      name: 'string',
      collect: 'function',
      panel: { label: 'string', template: 'string', badge: 'function' },
      toolbar: 'function',
    },
    required: ['name', 'collect'],
  },
  {
    noun: 'finding rule',
    list: ({ findingRules }) => findingRules,
    shape: { name: 'string', title: 'string', find: 'function', measure: 'object', isRepeatable: 'boolean' },
    required: ['name', 'title', 'find'],
  },
  {
    noun: 'explainer',
    list: ({ explainers }) => explainers,
    shape: { system: 'string', connect: 'function' },
    required: ['system', 'connect'],
  },
]

/** Returns a check of the objects that are added to the lists of the application from now on. @throws KERNEL_CONTRIBUTION_INVALID */
function checkContributions(app: Application): () => void {
  const before = kinds.map(({ list }) => new Set(list(app)))
  return () => {
    for (const [index, { list, noun, required, shape }] of kinds.entries()) {
      for (const each of list(app)) {
        const mistake = before[index]?.has(each) ? undefined : findMistake(each, shape, required)
        if (mistake !== undefined) throw new KERNEL_CONTRIBUTION_INVALID([noun, mistake])
      }
    }
  }
}

function findMistake(value: unknown, shape: ShapeOf<object>, required: readonly string[]): string | undefined {
  if (!isKeyed(value)) return `it is ${describeValue(value)}, not an object`
  const missing = required.find(key => readProperty(value, key) === undefined)
  return findShapeMistakes('key', value, shape)[0] ?? (missing && `it needs the key "${missing}"`)
}
