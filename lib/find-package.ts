import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/** The real folder of a package, as the files of a folder find it: its own packages are looked up from there. */
export function findPackage(folder: string, name: string): string | undefined {
  const found = (createRequire(path.join(folder, 'package.json')).resolve.paths(name) ?? [])
    .map(place => path.join(place, name))
    .find(place => existsSync(path.join(place, 'package.json')))
  return found && realpathSync(found)
}
