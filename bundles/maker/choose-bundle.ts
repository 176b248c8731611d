import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type CommandInput, CommandUsageError } from '../../kernel/console-command.ts'
import { type Name, parseName } from './name.ts'

/** A bundle that something is made for. */
export interface ChosenBundle {
  readonly name: Name
  /** Where it is registered; from the project's root. */
  readonly file: string
  /** What stands there; `undefined` where there is no such file. */
  readonly text: string | undefined
}

/** Finds the bundle that is named. @throws CommandUsageError */
export function chooseBundle(directory: string, { options }: Pick<CommandInput, 'options'>): ChosenBundle {
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

/** Names the folders of bundles. */
export function listBundles(directory: string): string[] {
  const entries = readdirSync(path.join(directory, 'bundles'), { withFileTypes: true })
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => name)
}
