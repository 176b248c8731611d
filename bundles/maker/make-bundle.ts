import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type CommandInput, type ExitCode, exitCodes } from '../../kernel/console-command.ts'
import type { Output } from '../../lib/console/output.ts'
import { listBundle } from './bundle-list.ts'
import { carryOut } from './carry-out.ts'
import { parseName } from './name.ts'
import { fillSkeleton, replaceBundle } from './skeleton.ts'

const index = 'bundles/index.ts'

/** Makes a bundle, and lists it among those of the application. @throws CommandUsageError */
export function makeBundle(directory: string, input: CommandInput, output: Output): ExitCode {
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
  const next = `bin/console make:page NAME --bundle ${name.kebab} adds a page to it.`
  return carryOut({ files, test, changed: index, change, next }, directory, input, output)
}
