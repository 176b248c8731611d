import { ARGUMENT_INVALID, checkArguments, refuseLate } from '../../lib/errors/arguments.ts'
import type { Request } from '../../lib/http/request.ts'
import { noteDeclaration } from '../../lib/stack/declaration-sites.ts'
import { describeValue, isKeyed, readProperty } from '../../lib/text/describe-value.ts'
import { findShapeMistakes } from '../../lib/text/mistakes.ts'
import { KERNEL_COLLECTOR_TAKEN, KERNEL_CONTRIBUTION_INVALID } from '../errors.ts'
import {
  type Collector,
  collectorPoint,
  type Explainer,
  explainerPoint,
  type FindingRule,
  findingRulePoint,
} from './collectors.ts'
import { type CommandSource, type ConsoleCommand, commandPoint } from './console-command.ts'
import type { ExtensionPoint } from './extension-point.ts'
import { type Guard, guardPoint } from './guard.ts'
import { type HealthCheck, healthCheckPoint } from './health-check.ts'

/** The lists of an application to which bundles add objects. */
export interface Contributions {
  /** Contributions of bundles to profiles; unused without the profiler. */
  readonly collectors: Collector[]
  /** The names of the profiler's own collectors and panels; no collector of a bundle may have one of them. */
  readonly reservedCollectors: string[]
  /** Rules of bundles that find flaws in profiles, in addition to the profiler's own rules. */
  readonly findingRules: FindingRule[]
  /** Connections on which the profiler's console explains queries; unused without the profiler. */
  readonly explainers: Explainer[]
  /** Commands of bundles for `bin/console`. A server does not load those that are given by a function. */
  readonly commands: CommandSource[]
  /** Guards of bundles, which routes and groups name. */
  readonly guards: Guard[]
  /** Checks of bundles, which `/_health` runs. */
  readonly healthChecks: HealthCheck[]
  /** Tests of main requests. If one is true, only the listeners of core bundles are called for the request. */
  readonly isolated: ((request: Request) => boolean)[]
}

/** Creates empty lists. */
export function createContributions(): Contributions {
  return {
    collectors: createList('collectors'),
    reservedCollectors: [],
    findingRules: createList('findingRules'),
    explainers: createList('explainers'),
    commands: createList('commands'),
    guards: createList('guards'),
    healthChecks: createList('healthChecks'),
    isolated: createList('isolated'),
  }
}

/** A list that checks what is added: the stack of the error has the place. */
function createList<type extends object>(name: keyof typeof checks): type[] {
  const list: type[] = []
  const push = (...added: type[]) => {
    for (const entry of added) checks[name](entry)
    if (Object.isFrozen(list)) refuseLate(`app.${name}.push(${describeName(added[0])})`)
    noteDeclaration(added, push)
    return Array.prototype.push.apply(list, added)
  }
  return Object.defineProperty(list, 'push', { value: push })
}

/** The check of an entry, for each list. */
const checks = {
  // A function loads commands when the console runs.
  commands: (entry: unknown) => typeof entry === 'function' || checkEntry(entry, commandPoint, findNameMistake),
  guards: (entry: unknown) => checkEntry(entry, guardPoint, findGuardMistake),
  healthChecks: (entry: unknown) => checkEntry(entry, healthCheckPoint),
  collectors: (entry: unknown) => checkEntry(entry, collectorPoint),
  findingRules: (entry: unknown) => checkEntry(entry, findingRulePoint),
  explainers: (entry: unknown) => checkEntry(entry, explainerPoint),
  isolated: (test: unknown) => checkArguments('isolated.push(test)', ['sync function'], test),
}

const names = Object.keys(checks) as (keyof typeof checks)[]

/**
 * Closes the lists: all bundles are registered, and what is added later would be unchecked, or unread. Health checks
 * are read at each run, and the server adds some of its own.
 */
export function closeContributions(lists: Contributions): void {
  for (const name of names) if (name !== 'healthChecks') Object.freeze(lists[name])
}

/** The bundles that have added the entries. */
const owners = new WeakMap<object, string>()

/**
 * Returns a function that checks and notes what a bundle has added since, also by other ways than `push`.
 *
 * @throws KERNEL_CONTRIBUTION_INVALID ARGUMENT_INVALID
 */
export function ownContributions(lists: Contributions, bundle: string): () => void {
  const before = names.map(name => ({ name, list: lists[name], known: new Set<unknown>(lists[name]) }))
  return () => {
    for (const { known, list, name } of before) {
      if (lists[name] !== list)
        throw new ARGUMENT_INVALID([`app.${name}`, 'it is another list now: add to it by push()'])
      for (const entry of list) {
        if (known.has(entry)) continue
        checks[name](entry)
        if (!owners.has(entry)) owners.set(entry, bundle)
      }
    }
  }
}

/**
 * Refuses two collectors with the same name: the profiler would show only one of them. @throws KERNEL_COLLECTOR_TAKEN
 */
export function checkCollectorNames({ collectors, reservedCollectors }: Contributions): void {
  const taken = new Map(reservedCollectors.map(name => [name, 'the profiler itself']))
  for (const collector of collectors) {
    const bundle = owners.get(collector) ?? ''
    const other = taken.get(collector.name)
    if (other !== undefined) throw new KERNEL_COLLECTOR_TAKEN([bundle, collector.name, other])
    taken.set(collector.name, `the bundle "${bundle}"`)
  }
}

/** Refuses two guards with the same name: a route would have only one of them. @throws KERNEL_CONTRIBUTION_INVALID */
export function checkGuardNames({ guards }: Contributions): void {
  const bundles = new Map<string, string>()
  for (const guard of guards) {
    const bundle = owners.get(guard)
    const other = bundles.get(guard.name)
    if (other !== undefined) {
      const mistake = `the bundle "${other}" has one of that name: give it another name`
      throw new KERNEL_CONTRIBUTION_INVALID([nameEntry(guard, guardPoint.noun, bundle), mistake])
    }
    bundles.set(guard.name, bundle ?? '')
  }
}

/** Checks the commands of an entry of `app.commands` when the console runs. @throws KERNEL_CONTRIBUTION_INVALID */
export function checkCommands(commands: readonly ConsoleCommand[], source: CommandSource): void {
  const bundle = owners.get(source)
  for (const command of commands) {
    const mistake = findMissing(command, commandPoint.required) ?? findNameMistake(command)
    if (mistake !== undefined)
      throw new KERNEL_CONTRIBUTION_INVALID([nameEntry(command, commandPoint.noun, bundle), mistake])
  }
}

function findGuardMistake({ check }: Guard): string | undefined {
  if (check.length < 2) return undefined
  return `its check takes ${check.length} arguments: it gets the request, and returns true, or a response`
}

function findNameMistake({ name, options = [] }: ConsoleCommand): string | undefined {
  if (/^-|\s/.test(name)) return 'its name is one word, such as "shop:import"'
  const dashed = options.find(({ name }) => name.startsWith('-'))
  return dashed && `its option "${dashed.name}" is named without the dashes`
}

function checkEntry<type>(
  value: unknown,
  { noun, required, shape }: ExtensionPoint<type>,
  findMore?: (entry: type) => string | undefined,
): void {
  const mistake =
    (isKeyed(value) ? findShapeMistakes('key', value, shape)[0] : undefined) ??
    findMissing(value, required) ??
    // An object with the required keys, each of the right type.
    findMore?.(value as type)
  if (mistake !== undefined) throw new KERNEL_CONTRIBUTION_INVALID([nameEntry(value, noun), mistake])
}

/** `The command "shop:import" of the bundle "shop"`, as far as it has a name and the bundle is not named anyway. */
function nameEntry(value: unknown, noun: string, bundle?: string): string {
  const name = readProperty(value, 'name')
  const article = /^[aeiou]/.test(noun) ? 'An' : 'A'
  const entry = typeof name === 'string' && name !== '' ? `The ${noun} "${name}"` : `${article} ${noun}`
  return bundle === undefined ? entry : `${entry} of the bundle "${bundle}"`
}

function describeName(entry: unknown): string {
  const name = readProperty(entry, 'name')
  return typeof name === 'string' && name !== '' ? `{ name: '${name}' }` : ''
}

function findMissing(value: unknown, required: readonly string[]): string | undefined {
  if (!isKeyed(value)) return `it is ${describeValue(value)}, not an object`
  const missing = required.find(key => readProperty(value, key) === undefined)
  return missing && `it needs the key "${missing}"`
}
