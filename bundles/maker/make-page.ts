import { type CommandInput, type ExitCode, exitCodes } from '../../kernel/console-command.ts'
import type { Output } from '../../lib/console/output.ts'
import type { Route } from '../../lib/routing/route.ts'
import { carryOut } from './carry-out.ts'
import { chooseBundle } from './choose-bundle.ts'
import { createImport } from './imports.ts'
import { parseName } from './name.ts'
import { registerInBundle } from './registration.ts'
import { fillSkeleton, replaceBundle, replaceName } from './skeleton.ts'

/** Makes a page: its route and controller, and its template. @throws CommandUsageError */
export function makePage(directory: string, routes: Iterable<Route>, input: CommandInput, output: Output): ExitCode {
  const name = parseName(String(input.arguments.name), 'page')
  const { file, name: bundle, text } = chooseBundle(directory, input)
  const route = [...routes].find(route => route.name === name.snake || route.path.source === `/${name.kebab}`)
  if (route !== undefined) {
    output.error(`There is a route "${route.name}" for ${route.path.source} already. Nothing was written.`)
    return exitCodes.failure
  }
  const path = `bundles/${bundle.kebab}/${name.kebab}-page`
  const test = `tests/${path}.test.ts`
  const fill = (skeleton: string) =>
    fillSkeleton(directory, skeleton, { ...replaceBundle(bundle), ...replaceName(name) })
  const files = [
    { path: `${path}.ts`, text: fill('page.ts.txt') },
    { path: `templates/${bundle.kebab}/${name.kebab}.hbs`, text: fill('page.hbs') },
    { path: test, text: fill('page.test.ts.txt') },
  ]
  const added = createImport(`add${name.pascal}Page`, `./${name.kebab}-page.ts`)
  const change = registerInBundle(text, added, `add${name.pascal}Page(app)`)
  const next = `Its address on the server is /${name.kebab}.`
  return carryOut({ files, test, changed: file, change, next }, directory, input, output)
}
