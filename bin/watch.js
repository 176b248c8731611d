import { readdirSync, statSync, watch } from 'node:fs'
import path from 'node:path'

/**
 * Tells of every change in and below folders, by the path of the file; a folder that is missing is left out. It watches
 * folder by folder: on Linux, Node 20's own recursive watching loses sight of a file once an editor has replaced it.
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

  /** Files may have been written into it before it was watched. */
  function addNew(folder) {
    try {
      add(folder)
      for (const name of readdirSync(folder, { recursive: true })) onChange(path.join(folder, name))
    } catch (error) {
      // It is gone again.
      if (error.code !== 'ENOENT') throw error
    }
  }

  for (const folder of folders.filter(isFolder)) add(folder)
}

function isFolder(file) {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true
}
