import type { ConsoleCommand } from '../../../kernel/console-command.ts'
import { carryOut } from '../carry-out.ts'
import { bundleOption, chooseBundle } from '../choose-bundle.ts'
import { createImport } from '../imports.ts'
import { createName, parseName } from '../name.ts'
import { registerInBundle } from '../registration.ts'
import { fillSkeleton, type Replacements, replaceBundle, replaceName } from '../skeleton.ts'
import { dryRunOption, nameArgument } from './arguments.ts'

/** What tests make each event of a request with, beside the request. */
const values: Readonly<Record<string, string>> = {
  'kernel.request': '',
  'kernel.controller': '() => undefined',
  'kernel.controller_arguments': '() => undefined, []',
  'kernel.view': "'a result'",
  'kernel.response': '',
  'kernel.finish_request': '',
  'kernel.exception': "new Error('lost')",
  'kernel.terminate': '',
}

/** Creates the command that makes a listener of an event in the life of a request. */
export function createMakeListener(directory: string): ConsoleCommand {
  return {
    name: 'make:listener',
    description: 'Makes a listener with its test, and subscribes it in a bundle',
    arguments: [
      nameArgument('greeting'),
      { name: 'event', description: 'the event that it listens to', choices: Object.keys(values) },
    ],
    options: [bundleOption(directory), dryRunOption],
    examples: [
      { line: 'make:listener greeting kernel.response --bundle site', purpose: 'makes a listener that sees responses' },
    ],
    run(input, output) {
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
      return carryOut({ files, test, changed: file, change }, directory, input, output)
    },
  }
}

/** The event of the skeletons is `kernel.sample`. */
function replaceEvent(event: string): Replacements {
  const { kebab, pascal } = createName(event.slice('kernel.'.length).replaceAll('_', '-'))
  return {
    'kernel.sample': event,
    'sample-event': `${kebab}-event`,
    SampleEvent: `${pascal}Event`,
    onSample: `on${pascal}`,
    createSampleEvent: `create${pascal}Event`,
    'createSampleEvent()': `create${pascal}Event(${values[event]})`,
  }
}
