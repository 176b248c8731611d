import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'

/**
 * Lists compiled files whose sources are gone: no compiler removes them, and a program may still import them. `folders`
 * are folders of sources in a directory, which have the same names in the folder `output`. There may also be sources
 * directly in the directory.
 */
export function listOrphans(directory: string, output: string, folders: readonly string[]): string[] {
  return [...readdirSync(output), ...folders.flatMap(folder => listFiles(output, folder))]
    .filter(file => {
      const [, base, ofTypes, ofCode = ofTypes] = /^(.+)\.(?:d\.([cm]?)ts|([cm]?)js)(?:\.map)?$/.exec(file) ?? []
      if (base === undefined) return false
      const endings = [`${ofCode}ts`, 'tsx', `${ofCode}js`, 'jsx']
      return !endings.some(ending => existsSync(path.join(directory, `${base}.${ending}`)))
    })
    .map(file => path.join(output, file))
}

/** Removes the files of {@link listOrphans}. */
export function removeOrphans(directory: string, output: string, folders: readonly string[]): void {
  const orphans = listOrphans(directory, output, folders)
  for (const file of orphans) rmSync(file, { force: true })
  // Otherwise the compiler of the tests would not write the output of a source that comes back.
  if (orphans.length > 0) rmSync(path.join(output, 'tests/.tsbuildinfo'), { force: true })
}

function listFiles(output: string, folder: string): string[] {
  if (!existsSync(path.join(output, folder))) return []
  const files = readdirSync(path.join(output, folder), { recursive: true, encoding: 'utf8' })
  return files.map(file => path.join(folder, file))
}
