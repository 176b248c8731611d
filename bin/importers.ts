import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/** Finds the programs that import a file, or are it. */
export type FindImporters = (file: string) => string[]

/**
 * Reads some programs of a directory, and the files of the directory that they import, directly or through others, except for
 * those in `node_modules`. Imports of types are none: they are gone when a program runs. All paths are absolute.
 */
export function readImporters(directory: string, programs: readonly string[]): FindImporters {
  const { resolve } = createRequire(path.join(directory, 'package.json'))
  const resolved = new Map<string, string>()
  const importers = new Map<string, string[]>()
  const files = new Set(programs)
  for (const file of files) {
    for (const name of readImports(file)) {
      const imported = name.startsWith('.') ? path.resolve(path.dirname(file), name) : resolveName(name)
      if (!isOwn(directory, imported)) continue
      importers.set(imported, [...(importers.get(imported) ?? []), file])
      files.add(imported)
    }
  }
  return file => {
    const found = new Set([file])
    for (const each of found) for (const importer of importers.get(each) ?? []) found.add(importer)
    return programs.filter(program => found.has(program))
  }

  function resolveName(name: string): string {
    const known = resolved.get(name)
    if (known !== undefined) return known
    let file = ''
    try {
      file = resolve(name)
    } catch {
      // A text that looks like an import, or a package that is not installed.
    }
    resolved.set(name, file)
    return file
  }
}

function isOwn(directory: string, file: string): boolean {
  return file.startsWith(directory + path.sep) && !file.includes(`${path.sep}node_modules${path.sep}`)
}

/** The names that a file imports; none if it was removed. */
function readImports(file: string): string[] {
  try {
    const imports = /(?<!^(?:import|export) type .*)\b(?:from|import)\s*\(?\s*(['"])([^'"\n]+)\1/gm
    return Array.from(readFileSync(file, 'utf8').matchAll(imports), ([, , name]) => String(name))
  } catch {
    return []
  }
}
