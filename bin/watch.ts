import { type FSWatcher, lstatSync, readdirSync, watch } from 'node:fs'
import path from 'node:path'

/**
 * Calls `onChange` with the path of each file that changes in or below some folders. Folders whose names are `foreign` are
 * left out, and so are missing ones and symbolic links, which may lead in a circle. Each folder has a watcher of its own: on Linux, Node 20's recursive watching loses a
 * file once an editor has replaced it.
 */
export function watchFolders(
  folders: readonly string[],
  isForeign: (name: string) => boolean,
  onChange: (file: string) => void,
): void {
  const watchers = new Map<string, FSWatcher>()
  const isWatched = (file: string) => isFolder(file) && !isForeign(path.basename(file))

  function add(folder: string): void {
    watchers.get(folder)?.close()
    watchers.set(
      folder,
      watch(folder, (_event, name) => {
        const file = path.join(folder, name ?? '')
        if (!isFolder(file)) onChange(file)
        else if (isWatched(file)) addNew(file)
      }),
    )
    for (const name of readdirSync(folder)) {
      const file = path.join(folder, name)
      if (isWatched(file)) add(file)
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

  for (const folder of folders.filter(isFolder)) add(folder)
}

function isFolder(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isDirectory() === true
}
