import { constants } from 'node:fs'
import type { FileSystem, OpenFile } from './file-system.ts'

/** How files are made: for the owner alone, and never in the place of another file or link. */
export const creationFlags: number =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** What the owner may do, and nobody else, with a file of the store. */
export const fileMode = 0o600

/** What the owner may do, and nobody else, with a directory of the store. */
export const directoryMode = 0o700

/** Creates a file to append to; the directory with it, where it is missing. */
export async function createFile(fileSystem: FileSystem, directory: string, file: string): Promise<OpenFile> {
  const made = await fileSystem.mkdir(directory, { recursive: true, mode: directoryMode })
  // A umask may have taken away what the owner needs.
  if (made !== undefined) await fileSystem.chmod(directory, directoryMode)
  const opened = await fileSystem.open(file, creationFlags, fileMode)
  // The same here; without success the file is stricter than it need be, which is no reason to give up.
  await opened.chmod(fileMode).catch(() => undefined)
  return opened
}

/** Appends all of the bytes: a disk that is nearly full takes some of them without complaint. */
export async function writeAll(file: OpenFile, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written)
    written += bytesWritten
  }
}
