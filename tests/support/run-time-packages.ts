import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { optionalPackages } from '#lib/optional-packages.ts'
import { code, writeTable } from './markdown.ts'

/** A package that is installed with this one. */
export interface RunTimePackage {
  readonly name: string
  readonly licence: string
  /** The package that depends on it; empty for this one. */
  readonly parent: string
  readonly scripts: readonly string[]
}

interface Manifest {
  readonly license?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/**
 * Reads the packages that `npm install --omit=dev` installs for the package in a directory, from its `node_modules/`.
 */
export function readRunTimePackages(directory = '.'): RunTimePackage[] {
  const found = new Map<string, RunTimePackage>()
  function visit(folder: string, parent: string): void {
    const { dependencies, optionalDependencies } = readManifest(folder)
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const nested = path.join(folder, 'node_modules', name)
      const place = existsSync(nested) ? nested : path.join(directory, 'node_modules', name)
      if (found.has(place)) continue
      const { license = 'unknown', scripts = {} } = readManifest(place)
      found.set(place, { name, licence: license, parent, scripts: Object.keys(scripts) })
      visit(place, name)
    }
  }
  visit(directory, '')
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest
}

/** The table of the packages that an application gets with this one. */
export function writeInstalled(packages: readonly RunTimePackage[]): string {
  const rows = packages.map(({ licence, name, parent }) => [code(name), licence, parent && code(parent)])
  return writeTable(['Package', 'Licence', 'Because of'], rows).replaceAll('|  |', '| |')
}

/** The table of the packages that an application installs for a feature, with the versions that can be used. */
export function writeOptional(): string {
  const rows = Object.entries(optionalPackages).map(([name, [from, below]]) => [code(name), from, below])
  return writeTable(['Package', 'From', 'Below'], rows)
}
