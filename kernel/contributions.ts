import { readProperty } from '../lib/stack/read-property.ts'
import { describeValue, isKeyed } from '../lib/text/describe-value.ts'
import { findShapeMistakes, type ShapeOf } from '../lib/text/shape.ts'
import type { Application } from './bundle.ts'
import type { ConsoleCommand } from './console-command.ts'
import { KERNEL_CONTRIBUTION_INVALID } from './errors.ts'
import type { Explainer } from './explainer.ts'
import type { HealthCheck } from './health-check.ts'
import type { Collector, FindingRule } from './profiler-contract.ts'

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
export function checkContributions(app: Application): () => void {
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
