import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Application } from '../../kernel/bundle.ts'
import {
  type CommandInput,
  CommandUsageError,
  type ExitCode,
  exitCodes,
} from '../../kernel/contracts/console-command.ts'
import type { Output } from '../../lib/console/output.ts'
import { packageDirectory } from '../../lib/package.ts'
import type { Route } from '../../lib/routing/route.ts'
import { orderImports } from './import-order.ts'
import { carryOut } from './plan.ts'
import { createImport, listBundle, registerInBundle } from './source-edits.ts'

/** The bundle for the generated code. */
interface ChosenBundle {
  readonly name: Name
  /** The file with the bundle's `register`, relative to the application's directory. */
  readonly file: string
  /** The content of the file; `undefined` if it does not exist. */
  readonly text: string | undefined
}

/** Finds the bundle of the option `--bundle`. @throws CommandUsageError */
function chooseBundle(directory: string, { options }: Pick<CommandInput, 'options'>): ChosenBundle {
  const all = listBundles(directory).join(', ')
  const { bundle } = options
  if (bundle === undefined) throw new CommandUsageError(`Which bundle is it for? Add --bundle, with one of ${all}.`)
  const name = parseName(bundle, 'bundle')
  const folder = path.join('bundles', name.kebab)
  if (!existsSync(path.join(directory, folder))) {
    const help = `bin/console make:bundle ${name.kebab}`
    throw new CommandUsageError(`There is no bundle "${name.kebab}", but ${all}; "${help}" makes it.`)
  }
  const file = path.join(folder, `${name.kebab}-bundle.ts`)
  const target = path.join(directory, file)
  return { name, file, text: existsSync(target) ? readFileSync(target, 'utf8') : undefined }
}

/** The names of all bundle folders. */
export function listBundles(directory: string): string[] {
  const entries = readdirSync(path.join(directory, 'bundles'), { withFileTypes: true })
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => name)
}

const index = 'bundles/index.ts'

/** Generates a bundle, and adds it to the list of bundles. @throws CommandUsageError */
export function makeBundle({ bundles, directory }: Application, input: CommandInput, output: Output): ExitCode {
  const name = parseName(input.arguments.name ?? '', 'bundle')
  const folder = `bundles/${name.kebab}`
  if (existsSync(path.join(directory, folder)) || bundles.includes(name.kebab)) {
    output.error(`There is a bundle "${name.kebab}" already. Nothing was written.`)
    return exitCodes.failure
  }
  const file = `${folder}/${name.kebab}-bundle.ts`
  const test = `tests/${folder}/${name.kebab}-bundle.test.ts`
  const fill = (skeleton: string) => fillSkeleton(skeleton, replaceBundle(name))
  const files = [
    { path: file, text: fill('bundle.ts.txt') },
    { path: test, text: fill('bundle.test.ts.txt') },
  ]
  const listed = readFileSync(path.join(directory, index), 'utf8')
  const change = listBundle(listed, `${name.camel}Bundle`, `./${name.kebab}/${name.kebab}-bundle.ts`)
  const next = `bin/console make:page NAME --bundle ${name.kebab} adds a page to it.`
  return carryOut({ files, test, changed: index, change, next }, directory, input, output)
}

/** Generates a collector and its panel. @throws CommandUsageError */
export function makeCollector(
  { directory, reservedCollectors }: Pick<Application, 'directory' | 'reservedCollectors'>,
  input: CommandInput,
  output: Output,
): ExitCode {
  const name = parseName(input.arguments.name ?? '', 'collector')
  if (reservedCollectors.includes(name.kebab)) {
    throw new CommandUsageError(`The profiler has a collector "${name.kebab}" of its own: choose another name.`)
  }
  const { file, name: bundle, text } = chooseBundle(directory, input)
  const path = `bundles/${bundle.kebab}/${name.kebab}-collector`
  const test = `tests/${path}.test.ts`
  const replacements = { ...replaceBundle(bundle), ...replaceName(name) }
  const fill = (skeleton: string) => fillSkeleton(skeleton, replacements)
  const files = [
    { path: `${path}.ts`, text: fill('collector.ts.txt') },
    { path: `templates/${bundle.kebab}/${name.kebab}-panel.hbs`, text: fill('collector.hbs') },
    { path: test, text: fill('collector.test.ts.txt') },
  ]
  const added = createImport(`${name.camel}Collector`, `./${name.kebab}-collector.ts`)
  const change = registerInBundle(text, added, app => `${app}.collectors.push(${name.camel}Collector)`)
  const next = `After a request, /_profiler/latest?panel=${name.kebab} on the server shows its panel.`
  return carryOut({ files, test, changed: file, change, next }, directory, input, output)
}

/** The arguments of some events in generated tests. */
const values: Readonly<Record<string, string>> = {
  'kernel.controller': '() => undefined',
  'kernel.controller_arguments': '() => undefined, []',
  'kernel.view': "'a result'",
  'kernel.exception': "new Error('lost')",
}

/** Generates a listener for a lifecycle event. @throws CommandUsageError */
export function makeListener(directory: string, input: CommandInput, output: Output): ExitCode {
  const name = parseName(input.arguments.name ?? '', 'listener')
  const { file, name: bundle, text } = chooseBundle(directory, input)
  const { event = '' } = input.arguments
  const path = `bundles/${bundle.kebab}/${name.kebab}-listener`
  const test = `tests/${path}.test.ts`
  const replacements = { ...replaceBundle(bundle), ...replaceName(name), ...replaceEvent(event) }
  const files = [
    { path: `${path}.ts`, text: fillSkeleton('listener.ts.txt', replacements) },
    { path: test, text: fillSkeleton('listener.test.ts.txt', replacements) },
  ]
  const added = createImport(`${name.pascal}Listener`, `./${name.kebab}-listener.ts`)
  const change = registerInBundle(text, added, app => `new ${name.pascal}Listener().subscribe(${app}.dispatcher)`)
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

/** Generates a page with route, controller and template. @throws CommandUsageError */
export function makePage(directory: string, routes: Iterable<Route>, input: CommandInput, output: Output): ExitCode {
  const name = parseName(input.arguments.name ?? '', 'page')
  const { file, name: bundle, text } = chooseBundle(directory, input)
  const route = [...routes].find(route => route.name === name.snake || route.path.source === `/${name.kebab}`)
  if (route !== undefined) {
    output.error(`There is a route "${route.name}" for ${route.path.source} already. Nothing was written.`)
    return exitCodes.failure
  }
  const path = `bundles/${bundle.kebab}/${name.kebab}-page`
  const test = `tests/${path}.test.ts`
  const replacements = { ...replaceBundle(bundle), ...replaceName(name) }
  const fill = (skeleton: string) => fillSkeleton(skeleton, replacements)
  const files = [
    { path: `${path}.ts`, text: fill('page.ts.txt') },
    { path: `templates/${bundle.kebab}/${name.kebab}.hbs`, text: fill('page.hbs') },
    { path: test, text: fill('page.test.ts.txt') },
  ]
  const added = createImport(`add${name.pascal}Page`, `./${name.kebab}-page.ts`)
  const change = registerInBundle(text, added, app => `add${name.pascal}Page(${app})`)
  const next = `Its address on the server is /${name.kebab}.`
  return carryOut({ files, test, changed: file, change, next }, directory, input, output)
}

/** Texts of a skeleton and their replacements. */
type Replacements = Readonly<Record<string, string>>

/** The replacements of the bundle `acme-shop`. */
function replaceBundle({ camel, kebab }: Pick<Name, 'camel' | 'kebab'>): Replacements {
  return { 'acme-shop': kebab, acmeShop: camel }
}

/** The replacements of the generated thing, which is called `sample-name` in skeletons. */
function replaceName({ camel, kebab, pascal, snake, title }: Name): Replacements {
  return { 'sample-name': kebab, sampleName: camel, SampleName: pascal, sample_name: snake, 'Sample name': title }
}

/** Fills in a skeleton: replaces its names, and sorts its imports. */
function fillSkeleton(skeleton: string, replacements: Replacements): string {
  const text = readFileSync(path.join(packageDirectory, 'bundles/maker/skeletons', skeleton), 'utf8')
  // In one pass, so that nothing is replaced twice; `createSampleEvent()` before `createSampleEvent`.
  const known = Object.keys(replacements).sort((one, other) => other.length - one.length)
  const pattern = new RegExp(known.map(word => word.replace(/[(){}\].]/g, '\\$&')).join('|'), 'g')
  return orderImports(text.replace(pattern, word => replacements[word] ?? word))
}

/** A name in the spellings of files, code, routes and titles. */
interface Name {
  readonly kebab: string
  readonly camel: string
  readonly pascal: string
  readonly snake: string
  readonly title: string
}

/** With two names of this length, no generated line is too long. */
const lengthLimit = 30

/** Parses a name such as `price-list`. A suffix with the kind (`-bundle`) is removed. @throws CommandUsageError */
function parseName(word: string, kind: string): Name {
  if (!/^[a-z][a-z\d]*(?:-[a-z\d]+)*$/.test(word)) {
    const right = toKebab(word) || 'price-list'
    throw new CommandUsageError(`"${word}" is no name: write it in lower case with hyphens, such as "${right}".`)
  }
  if (word.length > lengthLimit) throw new CommandUsageError(`"${word}" is longer than ${lengthLimit} characters.`)
  const ending = `-${kind}`
  return createName(word.endsWith(ending) ? word.slice(0, -ending.length) : word)
}

/** Creates the spellings of a valid name. */
function createName(kebab: string): Name {
  const words = kebab.split('-')
  const pascal = words.map(capitalize).join('')
  return {
    kebab,
    camel: pascal.charAt(0).toLowerCase() + pascal.slice(1),
    pascal,
    snake: words.join('_'),
    title: capitalize(words.join(' ')),
  }
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function toKebab(word: string): string {
  return word
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[^a-z\d]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, lengthLimit)
}
