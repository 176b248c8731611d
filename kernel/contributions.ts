import { describeValue } from '../lib/text/describe-value.ts'
import { type KeysOf, listUnknownKeys } from '../lib/text/known-keys.ts'
import type { Application } from './bundle.ts'
import type { ConsoleCommand } from './console-command.ts'
import { KERNEL_CONTRIBUTION_INVALID } from './errors.ts'
import type { Explainer } from './explainer.ts'
import type { HealthCheck } from './health-check.ts'
import type { Collector, FindingRule } from './profiler-contract.ts'

/** Objects that bundles add to a list of the application: their keys, of which some must have a value of a type. */
interface Kind<type> {
  readonly noun: string
  readonly list: (app: Application) => readonly unknown[]
  readonly keys: KeysOf<type>
  readonly required: Partial<Record<keyof type, 'string' | 'function'>>
}

const kinds: readonly [Kind<ConsoleCommand>, Kind<HealthCheck>, Kind<Collector>, Kind<FindingRule>, Kind<Explainer>] = [
  {
    noun: 'command',
    // A function loads commands when the console runs.
    list: ({ commands }) => commands.filter(each => typeof each !== 'function'),
    keys: { name: true, description: true, arguments: true, options: true, examples: true, run: true },
    required: { name: 'string', description: 'string', run: 'function' },
  },
  {
    noun: 'health check',
    list: ({ healthChecks }) => healthChecks,
    keys: { name: true, timeout: true, check: true },
    required: { name: 'string', check: 'function' },
  },
  {
    noun: 'collector',
    list: ({ collectors }) => collectors,
    keys: { name: true, collect: true, panel: true, toolbar: true },
    required: { name: 'string', collect: 'function' },
  },
  {
    noun: 'finding rule',
    list: ({ findingRules }) => findingRules,
    keys: { name: true, title: true, find: true, measure: true, isRepeatable: true },
    required: { name: 'string', title: 'string', find: 'function' },
  },
  {
    noun: 'explainer',
    list: ({ explainers }) => explainers,
    keys: { system: true, connect: true },
    required: { system: 'string', connect: 'function' },
  },
]

/** Returns a check of the objects that are added to the lists of the application from now on. @throws KERNEL_CONTRIBUTION_INVALID */
export function checkContributions(app: Application): () => void {
  const before = kinds.map(({ list }) => new Set(list(app)))
  return () => {
    for (const [index, { keys, list, noun, required }] of kinds.entries()) {
      for (const each of list(app)) if (!before[index]?.has(each)) check(noun, each, keys, required)
    }
  }
}

/** The keys whose values are lists, of commands. */
const lists = ['arguments', 'options', 'examples'] as const

function check(noun: string, value: unknown, keys: object, required: Readonly<Record<string, string>>): void {
  const fail = (mistake: string): never => {
    throw new KERNEL_CONTRIBUTION_INVALID([noun, mistake])
  }
  if (typeof value !== 'object' || value === null) fail(`it is ${describeValue(value)}, not an object`)
  const unknown = listUnknownKeys(Object(value), keys)[0]
  if (unknown !== undefined) fail(`there is no key ${unknown}`)
  for (const key of lists) {
    const found = Object(value)[key]
    if (found !== undefined && !Array.isArray(found)) fail(`its ${key} must be a list, not ${describeValue(found)}`)
  }
  for (const [key, type] of Object.entries(required)) {
    const found = Object(value)[key]
    if (typeof found !== type) fail(`its ${key} must be a ${type}, not ${describeValue(found)}`)
  }
}
