import fs, { constants, type Stats } from 'node:fs'
import promises, { type FileHandle } from 'node:fs/promises'
import path from 'node:path'

/** An open file. */
export interface OpenFile extends Pick<FileHandle, 'chmod' | 'close' | 'truncate'> {
  read(bytes: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>
  write(bytes: Buffer, offset: number, length: number): Promise<{ readonly bytesWritten: number }>
  stat(): Promise<Stats>
}

/** The functions of `node:fs` that the store calls. Tests pass a disk that fails. */
export interface FileSystem
  extends Pick<typeof promises, 'chmod' | 'lstat' | 'mkdir' | 'readdir' | 'unlink'>,
    Pick<typeof fs, 'chmodSync' | 'mkdirSync' | 'writeFileSync'> {
  open(file: string, flags: string | number, mode?: number): Promise<OpenFile>
}

/** The disk of this machine. */
export const nodeFileSystem: FileSystem = {
  ...promises,
  chmodSync: fs.chmodSync,
  mkdirSync: fs.mkdirSync,
  writeFileSync: fs.writeFileSync,
}

/** Mode of the store's files: only the owner reads and writes them. */
export const fileMode = 0o600

/** Mode of the store's directories: only the owner may use them. */
export const directoryMode = 0o700

/** To append to a new file: it never replaces another file, and a link is not followed. */
const creationFlags = 'ax'

/** Creates a file to append to, and its directory where that is missing. */
export async function createFile(fileSystem: FileSystem, directory: string, file: string): Promise<OpenFile> {
  const made = await fileSystem.mkdir(directory, { recursive: true, mode: directoryMode })
  // A umask may have removed permissions that the owner needs.
  if (made !== undefined) await fileSystem.chmod(directory, directoryMode)
  const opened = await fileSystem.open(file, creationFlags, fileMode)
  // The same for the file. A mode that stays stricter than necessary is no failure.
  await opened.chmod(fileMode).catch(() => undefined)
  return opened
}

/** Creates a file with its content before it returns. Its directory must exist. */
export function createFileNow(fileSystem: FileSystem, file: string, bytes: Buffer): void {
  fileSystem.writeFileSync(file, bytes, { flag: creationFlags, mode: fileMode })
  fileSystem.chmodSync(file, fileMode)
}

/** Appends all of the bytes: a disk that is nearly full writes some of them and reports no error. */
export async function writeAll(file: OpenFile, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written)
    written += bytesWritten
  }
}

/**
 * Whether the store reads a file: a regular one of this user. Files of root, and of the owner of
 * their folder, are read if other users cannot write them: root looks into the store of a service,
 * and some file systems give all files one owner. Without users, as on Windows, each file is read.
 */
export async function isTrusted(fileSystem: Pick<FileSystem, 'lstat'>, file: string, state: Stats): Promise<boolean> {
  if (!state.isFile()) return false
  return isOwn(state) || belongsTo(state, await fileSystem.lstat(folderOf(file)))
}

/** Whether a file or a folder belongs to this user. */
export function isOwn({ uid }: Stats): boolean {
  return process.geteuid === undefined || uid === process.geteuid()
}

function belongsTo({ mode, uid }: Stats, folder: Stats): boolean {
  return (uid === 0 || uid === folder.uid) && (mode & 0o022) === 0
}

/** With the dot, a link to the folder is followed. */
function folderOf(file: string): string {
  return `${path.dirname(file)}/.`
}

/** No link is followed. Without O_NONBLOCK, opening a pipe would wait for its writer. */
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Reads from a file with a function; `undefined` when the file cannot be opened or read, or is not trusted. */
export async function readFile<result>(
  fileSystem: FileSystem,
  path: string,
  read: (file: OpenFile, state: Stats) => Promise<result>,
): Promise<result | undefined> {
  try {
    const file = await fileSystem.open(path, readFlags)
    try {
      const state = await file.stat()
      return (await isTrusted(fileSystem, path, state)) ? await read(file, state) : undefined
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}

/** Bytes of a short file. */
const shortLimit = 1_000_000

/**
 * Reads a short file before it returns, by the same rule; `undefined` when it cannot be read, is not trusted, or is
 * longer.
 */
export function readFileNow(file: string, limit: number = shortLimit): string | undefined {
  let opened: number | undefined
  try {
    opened = fs.openSync(file, readFlags)
    const state = fs.fstatSync(opened)
    const isShort = state.isFile() && state.size <= limit
    const isReadable = isShort && (isOwn(state) || belongsTo(state, fs.lstatSync(folderOf(file))))
    return isReadable ? fs.readFileSync(opened, 'utf8') : undefined
  } catch {
    return undefined
  } finally {
    if (opened !== undefined) fs.closeSync(opened)
  }
}

/** Reads bytes of a file; fewer of them when the file ends before. */
export async function readBytes(file: Pick<OpenFile, 'read'>, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, offset + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return bytes.subarray(0, read)
}

/** A part of a file: where it begins, and its bytes. A line is counted without its end. */
export interface Span {
  readonly offset: number
  readonly length: number
}

/** Which lines of a file are read. */
interface LineRange {
  readonly from: number
  readonly until: number
  /** Bytes; longer lines are skipped. At most twice as many are in memory at a time. */
  readonly longest: number
  readonly onLine: (text: string, span: Span) => void
}

/** Reads the complete lines of a part of a file. Returns where the first incomplete line begins. */
export async function readLines(
  file: Pick<OpenFile, 'read'>,
  { from, until, longest, onLine }: LineRange,
): Promise<number> {
  let lineStart = from
  let position = from
  while (position < until) {
    const bytes = await readBytes(file, position, Math.min(2 * longest, until - position))
    let next = 0
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, next)) {
      const length = position + end - lineStart
      if (length > 0 && length <= longest) {
        onLine(bytes.toString('utf8', next, end), { offset: lineStart, length })
      }
      next = end + 1
      lineStart = position + next
    }
    if (bytes.length < 2 * longest) break
    // The last line of the piece is read again as a whole, unless it is too long.
    position = bytes.length - next > longest ? position + bytes.length : lineStart
  }
  return lineStart
}

const newline = 0x0a

/** Removes a file. A file that does not exist is no failure. */
export async function removeFile(fileSystem: FileSystem, file: string): Promise<void> {
  try {
    await fileSystem.unlink(file)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/** The names of the files in a directory, sorted; none where it does not exist, `undefined` where it cannot be read. */
export async function listDirectory(fileSystem: FileSystem, directory: string): Promise<string[] | undefined> {
  try {
    const files = await fileSystem.readdir(directory)
    return files.sort()
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? [] : undefined
  }
}

/** Whether a process with this id runs on this machine, of any user. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // The process of another user runs, but does not take signals.
    return codeOf(error) !== 'ESRCH'
  }
}

/** The code of an error of the operating system, such as `ENOENT`. */
function codeOf(error: unknown): string {
  // The functions of node:fs and process.kill() throw errors of this kind.
  return (error as NodeJS.ErrnoException).code ?? ''
}
