import { readdirSync, statSync, watch } from 'node:fs'
import path from 'node:path'

/**
 * Calls `onChange` with the path of each file that changes in or below some folders; a missing folder is left out. Each
 * folder has a watcher of its own: on Linux, Node 20's recursive watching loses a file once an editor has replaced it.
 */
export function watchFolders(folders, onChange) {
  const watchers = new Map()

  function add(folder) {
    watchers.get(folder)?.close()
    watchers.set(
      folder,
      watch(folder, (_event, name) => {
        const file = path.join(folder, name ?? '')
        if (isFolder(file)) addNew(file)
        else onChange(file)
      }),
    )
    for (const name of readdirSync(folder)) {
      const file = path.join(folder, name)
      if (isFolder(file)) add(file)
    }
  }

  /** Files may have been written into the new folder before it was watched. */
  function addNew(folder) {
    try {
      add(folder)
      for (const name of readdirSync(folder, { recursive: true })) onChange(path.join(folder, name))
    } catch (error) {
      // The folder was removed again.
      if (error.code !== 'ENOENT') throw error
    }
  }

  for (const folder of folders.filter(isFolder)) add(folder)
}

function isFolder(file) {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true
}
