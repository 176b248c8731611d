import { type FSWatcher, lstatSync, readdirSync, watch } from 'node:fs'
import path from 'node:path'

/**
 * Calls `onChange` with the path of each file that changes in or below a folder. Folders for which
 * `isWatched` returns false are left out, and so are folders that may not be read, and symbolic
 * links, which may lead in a circle. Each folder has a watcher of its own: on Linux, Node 20's
 * recursive watching loses a file once an editor has replaced it. Returns a function that ends it.
 */
export function watchFolder(
  root: string,
  isWatched: (folder: string) => boolean,
  onChange: (file: string) => void,
): () => void {
  const watchers = new Map<string, FSWatcher>()

  /** Files may have been written into a new folder before it was watched. */
  function add(folder: string, isNew: boolean): void {
    try {
      watchers.get(folder)?.close()
      watchers.set(
        folder,
        watch(folder, (_event, name) => {
          const file = path.join(folder, name ?? '')
          if (lstatSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) onChange(file)
          else if (isWatched(file)) add(file, true)
        }),
      )
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const file = path.join(folder, entry.name)
        if (!entry.isDirectory()) isNew && onChange(file)
        else if (isWatched(file)) add(file, isNew)
      }
    } catch (error) {
      // The folder was removed again, or belongs to another user, such as the files of a database.
      if (!['EACCES', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }

  add(root, false)
  return () => {
    for (const watcher of watchers.values()) watcher.close()
  }
}
