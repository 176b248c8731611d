import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import type { Route } from '../../../lib/routing/route.ts'
import { carryOut } from '../carry-out.ts'
import { bundleOption, chooseBundle } from '../choose-bundle.ts'
import { createImport } from '../imports.ts'
import { parseName } from '../name.ts'
import { registerInBundle } from '../registration.ts'
import { fillSkeleton, replaceBundle, replaceName } from '../skeleton.ts'
import { dryRunOption, nameArgument } from './arguments.ts'

/** Creates the command that makes a page: its route and controller, and its template. */
export function createMakePage(directory: string, routes: Iterable<Route>): ConsoleCommand {
  return {
    name: 'make:page',
    description: 'Makes a page with its route, its template and its test, and adds it to a bundle',
    arguments: [nameArgument('price-list')],
    options: [bundleOption(directory), dryRunOption],
    examples: [{ line: 'make:page price-list --bundle site', purpose: 'makes the page /price-list' }],
    run(input, output) {
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
      return carryOut({ files, test, changed: file, change }, directory, input, output)
    },
  }
}
