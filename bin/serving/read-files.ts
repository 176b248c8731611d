import path from 'node:path'
import { nameLimit } from '../application/edits.ts'
import { mayContainSources } from '../application/sources.ts'
import { watchFolder } from '../application/watch.ts'

/** Milliseconds. Editors write a file in several steps, and other tools many files at once. */
export const quietTime = 60

/**
 * Whether the server reads a file of the application again: a template or a static file, also of
 * `packages/…/templates`.
 */
export function isRead(name: string): boolean {
  return /(?:^|[\\/])(?:assets|bundles|public|templates)[\\/]/.test(name) && isVisible(name)
}

/** Editors keep files of their own beside the edited files. */
export function isVisible(file: string): boolean {
  return !/^\.|~$/.test(path.basename(file))
}

/**
 * Calls `onChange` after changes of files that the server reads again, with their names relative
 * to the application: for a process without a supervisor. Returns a function that ends it.
 */
export function watchReadFiles(directory: string, onChange: (names: readonly string[]) => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const changed = new Set<string>()
  const report = () => {
    onChange([...changed].slice(0, nameLimit))
    changed.clear()
  }
  const stop = watchFolder(
    directory,
    folder => mayContainSources(directory, folder),
    file => {
      const name = path.relative(directory, file)
      if (!isRead(name)) return
      changed.add(name)
      clearTimeout(timer)
      timer = setTimeout(report, quietTime)
    },
  )
  return () => {
    clearTimeout(timer)
    stop()
  }
}
