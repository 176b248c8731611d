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

const { cache } = createRequire(import.meta.url)

/** The folder of a package of CommonJS modules that is loaded; `undefined` if none of its modules is loaded. */
export function findLoaded(name: string): string | undefined {
  const folder = path.sep + path.join('node_modules', name) + path.sep
  const file = Object.keys(cache).find(file => file.includes(folder))
  return file?.slice(0, file.lastIndexOf(folder) + folder.length)
}
