import { type FSWatcher, lstatSync, readdirSync, watch } from 'node:fs'
import path from 'node:path'

/**
 * Calls `onChange` with the path of each file that changes in or below a folder. Folders for which `isWatched` returns
 * false are left out, and so are symbolic links, which may lead in a circle. Each folder has a watcher of its own: on
 * Linux, Node 20's recursive watching loses a file once an editor has replaced it.
 */
export function watchFolder(
  root: string,
  isWatched: (folder: string) => boolean,
  onChange: (file: string) => void,
): void {
  const watchers = new Map<string, FSWatcher>()

  function add(folder: string): void {
    watchers.get(folder)?.close()
    watchers.set(
      folder,
      watch(folder, (_event, name) => {
        const file = path.join(folder, String(name))
        if (!isFolder(file)) onChange(file)
        else if (isWatched(file)) addNew(file)
      }),
    )
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name)
      if (entry.isDirectory() && isWatched(file)) add(file)
    }
  }

  /** Files may have been written into the new folder before it was watched. */
  function addNew(folder: string): void {
    try {
      add(folder)
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) onChange(path.join(folder, name))
    } catch (error) {
      // The folder was removed again.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  add(root)
}

function isFolder(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isDirectory() === true
}
