import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/** The real folder of a package, as the files of a folder find it: its own packages are looked up from there. */
export function findPackage(folder: string, name: string): string | undefined {
  return createPackageFinder(folder)(name)
}

/** Does so for many packages: most of the folders `node_modules` that Node looks into do not exist. */
export function createPackageFinder(folder: string): (name: string) => string | undefined {
  const paths = createRequire(path.join(folder, 'package.json')).resolve.paths('any') ?? []
  const places = paths.filter(place => existsSync(place))
  return name => {
    const place = places.find(each => existsSync(path.join(each, name, 'package.json')))
    return place && realpathSync(path.join(place, name))
  }
}

/**
 * The folder with the package.json of a directory: the directory itself or the nearest one above
 * it; without one, the directory.
 */
export function findProject(directory: string, from: string = directory): string {
  if (isProject(from)) return from
  const parent = path.dirname(from)
  return parent === from ? directory : findProject(directory, parent)
}

/** Whether a folder has a package.json. Compilers write one with a `type` alone beside what they have compiled. */
export function isProject(folder: string): boolean {
  try {
    return !/^\s*\{\s*"type"\s*:\s*"\w+"\s*\}\s*$/.test(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  } catch {
    return false
  }
}

/**
 * The name of the program in a directory: `shop`, as in its package.json, `shop/tools` below it,
 * else the name of the directory.
 */
export function nameProgram(directory: string): string {
  const project = findProject(directory)
  const { name } = readManifest(project)
  const isNamed = typeof name === 'string' && name !== ''
  return isNamed ? path.join(name, path.relative(project, directory)) : path.basename(directory)
}

/** The package.json of a folder; without one, or if it cannot be read, it is empty. */
export function readManifest(folder: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')))
  } catch {
    return {}
  }
}

const { cache } = createRequire(import.meta.url)

/** The folder of a package of CommonJS modules that is loaded; `undefined` if none of its modules is loaded. */
export function findLoaded(name: string): string | undefined {
  const folder = path.sep + path.join('node_modules', name) + path.sep
  const file = Object.keys(cache).find(file => file.includes(folder))
  return file?.slice(0, file.lastIndexOf(folder) + folder.length)
}
