import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { directoryMode, fileMode, isOwn } from '../../bundles/profiler/store/file-system.ts'
import { readSecret } from '../application/program-list.ts'
import { findUserFolder } from '../application/user-folder.ts'

/**
 * Finds the folder in which the profiler keeps the files of a program: in `node_modules` of the
 * application, which watchers of sources and git leave out. Without one, creates the folder of
 * this user in the temporary folder. Programs in different directories share neither.
 *
 * @throws CommandUsageError if another user can write there
 */
export function findFolder(directory: string): string {
  const application = statSync(directory, { throwIfNoEntry: false })
  for (let folder = directory; ; folder = path.dirname(folder)) {
    const modules = statSync(path.join(folder, 'node_modules'), { throwIfNoEntry: false })
    // Any user may create this folder in one that all users can write, such as `/tmp`.
    if (modules !== undefined && (isOwn(modules) || modules.uid === 0 || modules.uid === application?.uid)) {
      return findOwnFolder(path.join(folder, 'node_modules/.cache/sinfonietta'), path.relative(folder, directory))
    }
    if (folder === path.dirname(folder)) {
      return findOwnFolder(findUserFolder(), path.relative(folder, directory))
    }
  }
}

/** The directory of a program is a folder of its own, but that of the application itself. */
function findOwnFolder(folder: string, directory: string): string {
  return directory === '' ? folder : path.join(folder, 'programs', directory)
}

/** Reads the secret that marks replays, or creates it: all processes that use the folder have the same. */
export function keepSecret(files: string): string {
  const file = path.join(files, 'replay-secret')
  const secret = randomBytes(16).toString('hex')
  try {
    mkdirSync(files, { recursive: true, mode: directoryMode })
    writeFileSync(file, secret, { flag: 'wx', mode: fileMode })
  } catch {
    // It exists, or cannot be written: then only child processes have the same secret.
  }
  return readSecret(files) ?? secret
}
