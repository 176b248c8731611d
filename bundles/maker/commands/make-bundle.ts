import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { listBundle } from '../bundle-list.ts'
import { carryOut } from '../carry-out.ts'
import { parseName } from '../name.ts'
import { fillSkeleton, replaceBundle } from '../skeleton.ts'
import { dryRunOption, nameArgument } from './arguments.ts'

const index = 'bundles/index.ts'

/** Creates the command that makes a bundle and lists it among those of the application. */
export function createMakeBundle(directory: string): ConsoleCommand {
  return {
    name: 'make:bundle',
    description: 'Makes a bundle with its test, and lists it in bundles/index.ts',
    arguments: [nameArgument('shop')],
    options: [dryRunOption],
    examples: [
      { line: 'make:bundle shop', purpose: 'makes bundles/shop, to which pages and listeners can be added' },
      { line: 'make:bundle shop --dry-run', purpose: 'tells what would be written' },
    ],
    run(input, output) {
      const name = parseName(String(input.arguments.name), 'bundle')
      const folder = `bundles/${name.kebab}`
      if (existsSync(path.join(directory, folder))) {
        output.error(`There is a bundle "${name.kebab}" already. Nothing was written.`)
        return exitCodes.failure
      }
      const file = `${folder}/${name.kebab}-bundle.ts`
      const test = `tests/${folder}/${name.kebab}-bundle.test.ts`
      const fill = (skeleton: string) => fillSkeleton(directory, skeleton, replaceBundle(name))
      const files = [
        { path: file, text: fill('bundle.ts.txt') },
        { path: test, text: fill('bundle.test.ts.txt') },
      ]
      const listed = readFileSync(path.join(directory, index), 'utf8')
      const change = listBundle(listed, `${name.camel}Bundle`, `./${name.kebab}/${name.kebab}-bundle.ts`)
      return carryOut({ files, test, changed: index, change }, directory, input, output)
    },
  }
}
