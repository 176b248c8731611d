import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, type Stats, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { directoryMode, fileMode, isOwn, readFileNow } from '../../bundles/profiler/store/file-system.ts'
import { CommandUsageError } from '../../kernel/contracts/console-command.ts'

/**
 * Finds the folder in which the profiler keeps the files of a program: in `node_modules` of the application, which watchers of sources
 * and git leave out. Without one, creates the folder of this user in the temporary folder. Programs in different directories share neither.
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

/**
 * Finds the folder of this user in the temporary folder, or creates it. The temporary folder belongs to all users, except on Windows:
 * nothing that another user may have made there is taken.
 *
 * @throws CommandUsageError if another user can write there
 */
export function findUserFolder(parent: string = tmpdir()): string {
  const user = process.geteuid?.()
  const folder = path.join(parent, user === undefined ? 'sinfonietta' : `sinfonietta-${user}`)
  try {
    mkdirSync(folder, { mode: directoryMode })
    // A umask may have removed permissions that the owner needs.
    chmodSync(folder, directoryMode)
  } catch {
    // It exists, or there is a problem.
  }
  const problem = findProblem(lstatSync(folder, { throwIfNoEntry: false }), statSync(parent, { throwIfNoEntry: false }))
  if (problem === '' || user === undefined) return folder
  throw new CommandUsageError(`The folder ${folder} ${problem}: remove it, or set TMPDIR to a folder of your own.`)
}

const sticky = 0o1000

/** Why other users could read, change or replace the files in a folder; empty if they cannot. */
function findProblem(folder: Stats | undefined, parent: Stats | undefined): string {
  if (folder === undefined) return 'cannot be created'
  if (folder.isSymbolicLink()) return 'is a link'
  if (!folder.isDirectory()) return 'is a file'
  if (!isOwn(folder)) return `belongs to another user (${folder.uid})`
  if ((folder.mode & 0o077) !== 0) return 'is open to other users'
  const isReplaceable = parent !== undefined && (parent.mode & 0o022) !== 0 && (parent.mode & sticky) === 0
  return isReplaceable ? 'can be replaced by other users' : ''
}

/** Reads the secret that marks replays, or creates it: all processes that use the folder have the same. */
export function keepSecret(file: string): string {
  const secret = randomBytes(16).toString('hex')
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: directoryMode })
    writeFileSync(file, secret, { flag: 'wx', mode: fileMode })
  } catch {
    // It exists, or cannot be written: then only child processes have the same secret.
  }
  return readFileNow(file) || secret
}
