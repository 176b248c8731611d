import type { CommandInput, ExitCode } from '../../kernel/console-command.ts'
import type { Output } from '../../lib/console/output.ts'
import { carryOut } from './carry-out.ts'
import { chooseBundle } from './choose-bundle.ts'
import { createImport } from './imports.ts'
import { createName, parseName } from './name.ts'
import { registerInBundle } from './registration.ts'
import { fillSkeleton, type Replacements, replaceBundle, replaceName } from './skeleton.ts'

/** What tests make some events with, beside the request. */
const values: Readonly<Record<string, string>> = {
  'kernel.controller': '() => undefined',
  'kernel.controller_arguments': '() => undefined, []',
  'kernel.view': "'a result'",
  'kernel.exception': "new Error('lost')",
}

/** Makes a listener of an event in the life of a request. @throws CommandUsageError */
export function makeListener(directory: string, input: CommandInput, output: Output): ExitCode {
  const name = parseName(String(input.arguments.name), 'listener')
  const { file, name: bundle, text } = chooseBundle(directory, input)
  const event = String(input.arguments.event)
  const path = `bundles/${bundle.kebab}/${name.kebab}-listener`
  const test = `tests/${path}.test.ts`
  const replacements = { ...replaceBundle(bundle), ...replaceName(name), ...replaceEvent(event) }
  const files = [
    { path: `${path}.ts`, text: fillSkeleton(directory, 'listener.ts.txt', replacements) },
    { path: test, text: fillSkeleton(directory, 'listener.test.ts.txt', replacements) },
  ]
  const added = createImport(`${name.pascal}Listener`, `./${name.kebab}-listener.ts`)
  const change = registerInBundle(text, added, `new ${name.pascal}Listener().subscribe(app.dispatcher)`)
  const next = `bin/console debug:events ${event} shows when it is called.`
  return carryOut({ files, test, changed: file, change, next }, directory, input, output)
}

/** The event of the skeletons is `kernel.sample`. */
function replaceEvent(event: string): Replacements {
  const { pascal } = createName(event.slice('kernel.'.length).replaceAll('_', '-'))
  return {
    'kernel.sample': event,
    SampleEvent: `${pascal}Event`,
    onSample: `on${pascal}`,
    createSampleEvent: `create${pascal}Event`,
    'createSampleEvent()': `create${pascal}Event(${values[event] ?? ''})`,
  }
}
