import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** Writes the program of the package into a directory: the hooks of tap cannot load a main file without an ending. */
export function copyProgram(directory: string): string {
  const root = path.resolve(import.meta.dirname, '../../..')
  const file = path.join(directory, 'program.mjs')
  const text = readFileSync(path.join(root, 'bin/sinfonietta'), 'utf8')
  writeFileSync(file, text.replaceAll("'../", `'${pathToFileURL(root)}/`))
  return file
}
