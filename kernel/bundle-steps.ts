import { ARGUMENT_INVALID, checkFunction } from '../lib/errors/arguments.ts'
import { describeError } from '../lib/errors/flat-error.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import { isThenable, listMethods } from '../lib/event-dispatcher/event-dispatcher.ts'
import { corsShape, describeNoOrigin, findCorsMistakes, isOrigin } from '../lib/http/cors.ts'
import type { KnownAttributes } from '../lib/http/request.ts'
import type { Logger } from '../lib/log/logger.ts'
import { ROUTE_DEFINITION_INVALID } from '../lib/routing/errors.ts'
import type { Route } from '../lib/routing/route.ts'
import { addOwnPlace } from '../lib/stack/stack-frames.ts'
import { describeValue, isKeyed, isPlainObject, readProperty } from '../lib/text/describe-value.ts'
import { findShapeMistakes, nearestNames, type ShapeOf, suggestNames } from '../lib/text/mistakes.ts'
import type { Application, Bundle, Explainer, Foundation, HealthCheck } from './bundle.ts'
import type { CommandSource, ConsoleCommand } from './contracts/console-command.ts'
import type { Collector, FindingRule } from './contracts/profiler-contract.ts'
import { type ControllerResolver, createDeclarations, type Declaring } from './controller.ts'
import { KERNEL_BUNDLE_FAILED, KERNEL_BUNDLE_WAITING, KERNEL_CONTRIBUTION_INVALID } from './errors.ts'
// The import adds the types of the kernel's attributes.
import type {} from './request-attributes.ts'

/** Milliseconds after which a bundle that is still in `register` or `close` is logged. */
const slowTime = 10_000

/** What the steps of bundles need. */
interface BundleStepsOptions {
  readonly bundles: readonly Bundle[]
  readonly directory: string
  readonly logger: Logger
}

/** Runs the steps of bundles. The error of a failed step names the bundle and the place in the application; its cause is the thrown value. */
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
    try {
      const decorated = bundle.decorate(foundation) ?? foundation
      const missing = Object.keys(foundation).find(key => !(key in decorated))
      if (missing !== undefined) {
        const mistake = `it must return all services, such as { ...foundation, view }, not ${describeValue(decorated)}`
        throw new ARGUMENT_INVALID(['decorate(foundation)', mistake])
      }
      return decorated
    } catch (error) {
      throw this.#failed(bundle, 'decorate', error, foundation)
    }
  }

  /** Registers a bundle, and checks what it has added. @throws KERNEL_BUNDLE_FAILED */
  async register(bundle: Bundle, app: Application): Promise<void> {
    this.#begun.add(bundle)
    const check = checkContributions(app, bundle)
    try {
      const pending: unknown = bundle.register(app)
      refuseResult(isThenable(pending) ? await this.#untilEnd(bundle, pending) : pending)
      check()
    } catch (error) {
      throw this.#failed(bundle, 'register', error, app)
    }
  }

  /** Closes the bundles that have begun a step, in reverse order, each of them once. Returns the errors of those that fail. */
  async close(): Promise<Error[]> {
    const failures: Error[] = []
    for (const bundle of this.#bundles.toReversed()) {
      if (!this.#begun.delete(bundle)) continue
      const slow = this.#warnWhenSlow(bundle, 'close')
      try {
        await bundle.close?.()
      } catch (error) {
        failures.push(this.#failed(bundle, 'close', error))
      } finally {
        clearTimeout(slow)
      }
    }
    return failures
  }

  /** @throws KERNEL_BUNDLE_WAITING if the process would end, because nothing is left that could settle the promise */
  async #untilEnd(bundle: Bundle, pending: PromiseLike<unknown>): Promise<unknown> {
    const slow = this.#warnWhenSlow(bundle, 'register')
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
    const advice = () => adviseOnServices(cause, services) || adviseOnParameter(cause, services, bundle[step])
    const reason = cause instanceof HttpError ? cause.message : describeError(cause) + advice()
    return new KERNEL_BUNDLE_FAILED([bundle.name, step, addOwnPlace(reason, cause, this.#directory)], { cause })
  }
}

/** Definitions in the result of `register` would have no effect. @throws ARGUMENT_INVALID */
function refuseResult(result: unknown): void {
  if (![result].flat().some(isPlainObject)) return
  const mistake = `it has returned ${describeValue(result)}, which has no effect: use app.routes.add(definition)`
  throw new ARGUMENT_INVALID(['register(app)', mistake])
}

/**
 * The end of a message of the engine about a function that a service does not have, or about a name that is a service: what is
 * right. The message quotes the code, in which most variables have the names of their services.
 */
function adviseOnServices(cause: unknown, services: object): string {
  const message = String(readProperty(cause, 'message'))
  const [, undeclared = ''] = /^(\w+) is not defined$/.exec(message) ?? []
  if (Object.hasOwn(services, undeclared))
    return `: it is a service of the application: write register({ ${undeclared} })`
  const [similar] = undeclared === '' ? [] : nearestNames(undeclared, Object.keys(services))
  if (similar !== undefined) return `: is it the service "${similar}"? Write register({ ${similar} })`
  const [, owner = '', method = ''] = /(\w+)\.(\w+) is not a function$/.exec(message) ?? []
  if (owner === 'app') {
    if (method === 'use') return ': use app.dispatcher.on(RequestEvent, listener)'
    const hasMethod = (service: unknown) => typeof readProperty(service, method) === 'function'
    const fitting = Object.keys(services).filter(name => hasMethod(readProperty(services, name)))
    if (fitting.length > 0) return `: use ${fitting.map(name => `app.${name}.${method}()`).join(' or ')}`
    return `: it has the services ${Object.keys(services).join(', ')}`
  }
  const service: unknown = readProperty(services, owner)
  if (Array.isArray(service)) return ': it is a list: use push()'
  const methods = listMethods(service).filter(
    name => name !== 'constructor' && typeof readProperty(service, name) === 'function',
  )
  // A variable of this name may be something else.
  if (methods.length === 0 || methods.includes(method)) return ''
  return suggestNames(method, methods) || `: use ${methods.join(', ')}`
}

/** What is right, if a step of a bundle takes a service that does not exist, or one service instead of all. */
function adviseOnParameter(cause: unknown, services: object, step: unknown): string {
  if (!(cause instanceof TypeError)) return ''
  const [, names = '', single = ''] = /^[^(]*\(\s*(?:\{([^{}()]*)\}|(\w+))/.exec(String(step)) ?? []
  if (Object.hasOwn(services, single)) return `: register() gets all services at once: write register({ ${single} })`
  const taken = names.split(',').map(name => /^\s*(\w*)/.exec(name)?.[1] ?? '')
  const unknown = taken.find(name => name !== '' && !Object.hasOwn(services, name))
  if (unknown === undefined) return ''
  const known = Object.keys(services)
  return `: there is no service "${unknown}"${suggestNames(unknown, known) || `: use ${known.join(', ')}`}`
}

/** Objects that bundles add to a list of the application: their shape, of which some keys are required. */
interface Kind<type> {
  /** The noun for messages. */
  readonly noun: string
  readonly list: (app: Application) => readonly unknown[]
  readonly shape: ShapeOf<type>
  readonly required: readonly (keyof type)[]
}

const commandKind: Kind<ConsoleCommand> = {
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
}

const kinds: readonly [Kind<ConsoleCommand>, Kind<HealthCheck>, Kind<Collector>, Kind<FindingRule>, Kind<Explainer>] = [
  commandKind,
  {
    noun: 'health check',
    list: ({ healthChecks }) => healthChecks,
    shape: { name: 'string', isOptional: 'boolean', timeout: 'number', check: 'function' },
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

/** Returns a check of what is added to the lists of the application from now on. @throws KERNEL_CONTRIBUTION_INVALID ARGUMENT_INVALID */
function checkContributions(app: Application, { name }: Bundle): () => void {
  const before = kinds.map(({ list }) => new Set(list(app)))
  return () => {
    for (const [index, kind] of kinds.entries()) {
      // The compiler compares each shape with its own type.
      for (const each of kind.list(app)) if (!before[index]?.has(each)) checkEntry(each, kind as Kind<object>)
    }
    for (const test of app.isolated) checkFunction('isolated.push(test)', 'the test', test)
    for (const source of app.commands) {
      if (typeof source === 'function' && !loaderBundles.has(source)) loaderBundles.set(source, name)
    }
  }
}

/** The bundles of the functions that load commands: only the console calls them. */
const loaderBundles = new WeakMap<CommandSource, string>()

/** Checks the commands of an entry of `app.commands` when the console runs. @throws KERNEL_CONTRIBUTION_INVALID */
export function checkCommands(commands: readonly ConsoleCommand[], source: CommandSource): void {
  const bundle = loaderBundles.get(source)
  for (const command of commands) {
    const mistake = findMissing(command, commandKind.required) ?? findDashes(command)
    if (mistake !== undefined)
      throw new KERNEL_CONTRIBUTION_INVALID([nameEntry(command, commandKind.noun, bundle), mistake])
  }
}

function findDashes({ options = [] }: ConsoleCommand): string | undefined {
  const dashed = options.find(({ name }) => name.startsWith('-'))
  return dashed && `its option "${dashed.name}" is named without the dashes`
}

function checkEntry(value: unknown, { noun, required, shape }: Kind<object>): void {
  const mistake =
    (isKeyed(value) ? findShapeMistakes('key', value, shape)[0] : undefined) ?? findMissing(value, required)
  if (mistake !== undefined) throw new KERNEL_CONTRIBUTION_INVALID([nameEntry(value, noun), mistake])
}

/** `The command "shop:import" of the bundle "shop"`, as far as it has a name and the bundle is not named anyway. */
function nameEntry(value: unknown, noun: string, bundle?: string): string {
  const name = readProperty(value, 'name')
  const article = /^[aeiou]/.test(noun) ? 'An' : 'A'
  const entry = typeof name === 'string' && name !== '' ? `The ${noun} "${name}"` : `${article} ${noun}`
  return bundle === undefined ? entry : `${entry} of the bundle "${bundle}"`
}

function findMissing(value: unknown, required: readonly string[]): string | undefined {
  if (!isKeyed(value)) return `it is ${describeValue(value)}, not an object`
  const missing = required.find(key => readProperty(value, key) === undefined)
  return missing && `it needs the key "${missing}"`
}

/** The shape of the attributes that the defaults of a route can set. */
const routeAttributes: ShapeOf<
  Pick<
    KnownAttributes,
    | '_body_limit'
    | '_body_unread'
    | '_stateless'
    | '_cross_origin'
    | '_cors'
    | '_log'
    | '_public'
    | '_format'
    | '_locale'
  >
> = {
  _body_limit: 'number',
  _body_unread: 'boolean',
  _stateless: 'boolean',
  _cross_origin: true,
  _cors: true,
  _log: 'boolean',
  _public: ['string'],
  _format: 'string',
  _locale: 'string',
}

/**
 * Refuses a route whose controller cannot answer, or whose defaults would have no effect: a request would be the first to notice.
 *
 * @throws ROUTE_DEFINITION_INVALID
 */
export function checkRoutes(
  { controllers, directory, routes }: Declaring & { readonly controllers: ControllerResolver },
  bundles: readonly Bundle[],
): void {
  const declared = bundles.flatMap(({ routeDefaults = [] }) => routeDefaults)
  const names: ReadonlySet<string> = new Set([...Object.keys(routeAttributes), ...declared])
  for (const route of routes) {
    const mistake = controllers.findMistake(route) ?? findDefaultMistake(route.defaults, names)
    if (mistake === undefined) continue
    const place = createDeclarations({ controllers, directory, routes }).find(route)
    const where = place === undefined ? '' : ` (${place.file}:${place.line})`
    throw new ROUTE_DEFINITION_INVALID([route.name, mistake + where])
  }
}

function findDefaultMistake(defaults: Route['defaults'], names: ReadonlySet<string>): string | undefined {
  const known = Object.entries(defaults).filter(([name]) => name in routeAttributes)
  const [mistake] = [
    ...findShapeMistakes('default', Object.fromEntries(known), routeAttributes),
    ...findUndeclared(defaults, names),
    ...findPolicyMistakes(defaults._cors),
    ...findOriginMistakes(defaults._cross_origin),
  ]
  return mistake && `in its defaults, ${mistake}`
}

/** A default that nothing reads may be a guard that is mistyped, or whose bundle is not in the list. */
function findUndeclared(defaults: Route['defaults'], names: ReadonlySet<string>): string[] {
  const unknown = Object.keys(defaults).filter(name => name.startsWith('_') && !names.has(name))
  return unknown.map(name => {
    const advice = suggestNames(name, names) || `: the bundle that reads it has routeDefaults: ['${name}']`
    return `"${name}" is declared by no bundle of the list${advice}`
  })
}

function findPolicyMistakes(policy: unknown): readonly string[] {
  if (policy === undefined || policy === false) return []
  const mistakes = findShapeMistakes('key', { _cors: policy }, { _cors: corsShape })
  // A value of the right shape is a policy.
  return mistakes.length > 0 ? mistakes : findCorsMistakes(policy as Parameters<typeof findCorsMistakes>[0], '_cors')
}

function findOriginMistakes(origins: unknown): string[] {
  if (origins === undefined || typeof origins === 'boolean') return []
  if (!Array.isArray(origins)) return [`"_cross_origin" must be true, false or a list, not ${describeValue(origins)}`]
  return origins.filter(origin => !isOrigin(origin)).map(origin => describeNoOrigin('_cross_origin', origin))
}
