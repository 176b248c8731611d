import { readFileSync } from 'node:fs'
import path from 'node:path'

/**
 * The directory of the package `sinfonietta`: its own templates, assets and compiled files. It is absolute and, as Node
 * loads modules by their real paths, without symbolic links. An application has its own directory, except in the
 * repository of the package, where both are the same.
 */
export const packageDirectory: string = path.join(import.meta.dirname, '../..')

/** The name by which applications depend on the package. */
export const packageName = 'sinfonietta'

/** The version of the package, as in its package.json. */
export const version: string = readVersion()

function readVersion(): string {
  // The file of the package itself: npm refuses to install a package without a version.
  const { version } = JSON.parse(readFileSync(path.join(packageDirectory, 'package.json'), 'utf8')) as {
    version: string
  }
  return version
}
