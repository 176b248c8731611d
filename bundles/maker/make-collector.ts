import { type CommandInput, CommandUsageError, type ExitCode } from '../../kernel/console-command.ts'
import type { Output } from '../../lib/console/output.ts'
import { carryOut } from './carry-out.ts'
import { chooseBundle } from './choose-bundle.ts'
import { createImport } from './imports.ts'
import { parseName } from './name.ts'
import { registerInBundle } from './registration.ts'
import { fillSkeleton, replaceBundle, replaceName } from './skeleton.ts'

/** The profiler's own. */
const taken: readonly string[] = [
  ...['config', 'cpu', 'events', 'exception', 'findings', 'http', 'late', 'logger', 'memory', 'redirects', 'request'],
  ...['response', 'router', 'server', 'session', 'templates', 'time'],
]

/** Makes a collector and its panel. @throws CommandUsageError */
export function makeCollector(directory: string, input: CommandInput, output: Output): ExitCode {
  const name = parseName(String(input.arguments.name), 'collector')
  if (taken.includes(name.kebab)) {
    throw new CommandUsageError(`The profiler has a collector "${name.kebab}" of its own: choose another name.`)
  }
  const { file, name: bundle, text } = chooseBundle(directory, input)
  const path = `bundles/${bundle.kebab}/${name.kebab}-collector`
  const test = `tests/${path}.test.ts`
  const fill = (skeleton: string) =>
    fillSkeleton(directory, skeleton, { ...replaceBundle(bundle), ...replaceName(name) })
  const files = [
    { path: `${path}.ts`, text: fill('collector.ts.txt') },
    { path: `templates/${bundle.kebab}/${name.kebab}-panel.hbs`, text: fill('collector.hbs') },
    { path: test, text: fill('collector.test.ts.txt') },
  ]
  const added = createImport(`${name.camel}Collector`, `./${name.kebab}-collector.ts`)
  const change = registerInBundle(text, added, `app.collectors.push(${name.camel}Collector)`)
  const next = `After a request, /_profiler/latest?panel=${name.kebab} on the server shows its panel.`
  return carryOut({ files, test, changed: file, change, next }, directory, input, output)
}
