import { randomUUID } from 'node:crypto'
import { constants, type Dirent, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { lstat, open, rm, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import path from 'node:path'
import { withoutStack } from './errors/http-error.ts'

/** What is right where a file cannot be written, by the code of the error. */
export const writingAdvice: Readonly<Record<string, string>> = {
  EACCES: ' Give it to this user.',
  EROFS: ' Mount a disk there that can be written.',
  ENOSPC: ' Free some space on the disk.',
  EDQUOT: ' Free some space on the disk.',
  ENOTDIR: ' Remove the file that is in its place.',
  ENOENT: ' Create it, or the folder that a link leads to.',
  EISDIR: ' It is a folder: name a file in it.',
}

/** Enough that a full disk refuses it: a file of a few bytes may have room beside its name. */
const content = Buffer.alloc(4096)

/**
 * Writes a file into a folder and removes it. If the folder does not exist, the file is written
 * into the first parent that does: there the folder is going to be created.
 *
 * @throws Error with the folder, the user and the reason, if the folder cannot be written, or could not be created
 */
export async function checkFolder(folder: string, { isCreated = true } = {}): Promise<void> {
  const place = isCreated ? await findPlace(folder) : folder
  try {
    await writeOnce(path.join(place, `.${randomUUID()}.tmp`))
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const reason = `${code} in ${place}${await describeOwner(place)}`
    const message = `The user "${findUser()}" cannot write to the folder ${folder} (${reason}).${writingAdvice[code] ?? ''}`
    // The stack is that of the check: it says nothing.
    throw withoutStack(() => new Error(message))
  }
}

/** The folder; or the first parent that exists, as a folder, a file, or a link to nothing. */
async function findPlace(folder: string): Promise<string> {
  try {
    await lstat(folder)
    return folder
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
    return isMissing ? findPlace(path.dirname(folder)) : folder
  }
}

/** The file is removed before it is written: a process that is killed meanwhile leaves nothing. */
async function writeOnce(file: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await rm(file)
    await handle.writeFile(content)
  } finally {
    await handle.close()
  }
}

async function describeOwner(place: string): Promise<string> {
  const found = await stat(place).catch(() => undefined)
  return found === undefined ? '' : `, of the user id ${found.uid}, mode ${(found.mode & 0o777).toString(8)}`
}

/** What is right where a file cannot be read, by the code of the error: the end of a sentence. */
export function adviseOnReading(code: string | undefined): string {
  if (code === 'EACCES') return `: the user "${findUser()}", who runs this, must be able to read it`
  return code === 'EISDIR' ? ': it is a folder' : ''
}

/** A user without a line in /etc/passwd, such as in a container, has only a number. */
function findUser(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}

/** The content of a file; `undefined` if there is none, or if it is a link or no regular file. */
export async function readRegularFile(file: string): Promise<Buffer | undefined> {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(file, flags).catch(ignoreMissing)
  try {
    return (await handle?.stat())?.isFile() ? await handle?.readFile() : undefined
  } finally {
    await handle?.close()
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ELOOP') throw error
}

/**
 * Replaces a file, and creates its folder for its owner alone. Readers see the whole file or the one before. A link in
 * its place is replaced, too: another user may have made it where the folder lets them. Throws the errors of node:fs.
 */
export function replaceFileNow(file: string, text: string, mode = 0o600): void {
  const draft = `${file}.${randomUUID()}`
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(draft, text, { flag: 'wx', mode })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** The entries of a folder; none if it was removed, or belongs to another user. */
export function listEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
