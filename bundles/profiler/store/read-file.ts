import { constants } from 'node:fs'
import type { FileState, FileSystem, OpenFile } from './file-system.ts'

/** Whether a file may be one of the store's: a regular one, and none that belongs to somebody else and anybody can write. */
export function isTrusted(state: FileState): boolean {
  return state.isFile() && (state.uid === process.geteuid?.() || (state.mode & 0o022) === 0)
}

/** Reads from a file with the given function; `undefined` when it cannot be opened or read, or is not to be trusted. */
export async function readFile<result>(
  fileSystem: FileSystem,
  path: string,
  read: (file: OpenFile, state: FileState) => Promise<result>,
): Promise<result | undefined> {
  try {
    // No link is followed, and without O_NONBLOCK opening a pipe would wait for its writer.
    const file = await fileSystem.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const state = await file.stat()
      return isTrusted(state) ? await read(file, state) : undefined
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}
