import { chmodSync, lstatSync, mkdirSync, type Stats, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { directoryMode, isOwn } from '../../bundles/profiler/store/file-system.ts'
import { CommandUsageError } from '../../kernel/contracts/console-command.ts'

/**
 * Finds the folder of this user in the temporary folder, or creates it. The temporary folder
 * belongs to all users, except on Windows: nothing that another user may have made there is taken.
 *
 * @throws CommandUsageError if another user can write there
 */
export function findUserFolder(): string {
  const parent = tmpdir()
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
