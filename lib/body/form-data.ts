import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { copyFile, lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import path, { dirname, relative } from 'node:path'
import { ARGUMENT_INVALID, checkString } from '../errors/arguments.ts'
import { addOwnPlace } from '../stack/stack-frames.ts'
import { readProperty } from '../text/describe-value.ts'
import { BODY_CHARSET_UNSUPPORTED, BODY_FIELDS_TOO_MANY, BODY_FORM_INVALID } from './errors.ts'

/**
 * The fields of a form in the order in which they were sent: text or uploaded files. Members are
 * named as in the Fetch API.
 */
export class FormData implements Iterable<[string, string | UploadedFile]> {
  readonly #fields: [string, string | UploadedFile][] = []

  /** Adds a value to those of the name. */
  append(name: string, value: string | UploadedFile): void {
    this.#fields.push([name, value])
  }

  /** The first value of a name; `null` if there is none. */
  get(name: string): string | UploadedFile | null {
    return this.getAll(name)[0] ?? null
  }

  /** All values of the name, in the order of the form. */
  getAll(name: string): (string | UploadedFile)[] {
    return this.#fields.filter(([other]) => other === name).map(([, value]) => value)
  }

  /** Whether the form has the name. */
  has(name: string): boolean {
    return this.#fields.some(([other]) => other === name)
  }

  /** All fields, as pairs of a name and a value, in the order of the form. */
  [Symbol.iterator](): Iterator<[string, string | UploadedFile]> {
    return this.#fields[Symbol.iterator]()
  }
}

/** A file of a form. Its content is in a temporary file until the request ends. */
export class UploadedFile {
  /** The name that the client sent: text to show, never a path to use. */
  readonly name: string
  /** The content type that the client sent: the media type in lower case, and its parameters as they are. */
  readonly type: string
  /** In bytes. */
  readonly size: number
  /** The path of the temporary file. */
  readonly path: string

  constructor(file: { readonly name: string; readonly type: string; readonly size: number; readonly path: string }) {
    this.name = file.name
    this.type = file.type
    this.size = file.size
    this.path = file.path
  }

  /**
   * Copies the content to a path. Its folder is created, and an existing file is replaced. @throws
   * ARGUMENT_INVALID for the path of a folder, or after the request
   */
  async saveAs(path: string): Promise<void> {
    checkString('file.saveAs(path)', 'the path', path)
    warnOfListed(path)
    await mkdir(dirname(path), { recursive: true })
    try {
      await copyFile(this.path, path)
    } catch (error) {
      const mistake = await this.#explain(error, path)
      throw mistake === undefined ? error : new ARGUMENT_INVALID(['file.saveAs(path)', mistake])
    }
  }

  async #explain(error: unknown, target: string): Promise<string | undefined> {
    const code = readProperty(error, 'code')
    if (/[\\/]$/.test(target) || code === 'EISDIR')
      return `${target} is a folder: add a name of the server for the file`
    const isGone = code === 'ENOENT' && (await lstat(this.path).catch(() => undefined)) === undefined
    return isGone ? 'the content is removed at the end of the request: await saveAs() before the response' : undefined
  }
}

let hasWarned = false

/** Warns once of a file in a folder whose files are listed at the start. Only development lists them again. */
function warnOfListed(target: string): void {
  const [listed] = /^(?:public|bundles\/[^/]+\/assets)\//.exec(relative(process.cwd(), target)) ?? []
  if (listed === undefined || hasWarned) return
  hasWarned = true
  const message = `file.saveAs() writes into ${listed}, whose files are listed at the start: production has a new one after the next start. Use another folder, and createFileResponse().`
  process.emitWarning(addOwnPlace(message, new Error('saveAs'), process.cwd()))
}

/** Whether a file was chosen. A browser sends a file without name and content for an input without one. */
export function isChosen({ name, size }: UploadedFile): boolean {
  return name !== '' || size > 0
}

/**
 * Parses a form of the type `application/x-www-form-urlencoded` by the URL Standard: a byte order mark or a
 * question mark at its beginning belongs to the first name. Brackets in a name, as in `a[b]`, have no special
 * meaning. Other than in the standard, bytes that are not UTF-8 are refused: a replaced character would be
 * another name or value. `charset` is another charset than UTF-8 that the client names, for the error.
 * @throws BODY_FIELDS_TOO_MANY (413) before anything is parsed; empty fields count, too
 * @throws BODY_FORM_INVALID (400), or BODY_CHARSET_UNSUPPORTED (415) with a charset, if escaped bytes are not UTF-8
 */
export function parseForm(text: string, maxFields: number, charset?: string): FormData {
  if (hasMoreFieldsThan(maxFields, text)) throw new BODY_FIELDS_TOO_MANY([maxFields, 'fields'])
  checkEscapes(text, charset)
  const form = new FormData()
  // URLSearchParams removes one question mark.
  for (const [name, value] of new URLSearchParams(`?${text}`)) form.append(name, value)
  return form
}

function hasMoreFieldsThan(limit: number, text: string): boolean {
  let count = 1
  for (let at = text.indexOf('&'); at !== -1 && count <= limit; at = text.indexOf('&', at + 1)) count++
  return count > limit
}

/** URLSearchParams would replace invalid bytes by U+FFFD. */
function checkEscapes(text: string, charset: string | undefined): void {
  try {
    for (const [escaped] of text.matchAll(/(?:%[0-9a-f]{2})+/gi)) decodeURIComponent(escaped)
  } catch {
    if (charset !== undefined) throw new BODY_CHARSET_UNSUPPORTED([charset])
    throw new BODY_FORM_INVALID(['it has escaped bytes that are not UTF-8'])
  }
}

const prefix = 'sinfonietta-upload-'

/** The names that mkdtemp creates. */
const ownName = new RegExp(`^${prefix}[A-Za-z0-9]{6}$`)

/** An hour, in milliseconds: no upload takes as long. */
const staleAfter = 3_600_000

/** Temporary files and directories of requests that have not ended. */
const inUse = new Set<string>()

/**
 * Removes a temporary file or directory of a request at the exit of the process, unless {@link noteRemoval}
 * was called before: the process may end before the request. A process that is killed removes nothing.
 */
export function removeAtExit(file: string): void {
  if (inUse.size === 0) process.on('exit', removeAll)
  inUse.add(file)
}

/** Notes that a temporary file or directory was removed, or cannot be removed. */
export function noteRemoval(file: string): void {
  inUse.delete(file)
  if (inUse.size === 0) process.off('exit', removeAll)
}

function removeAll(): void {
  for (const file of inUse) {
    try {
      rmSync(file, { recursive: true, force: true, maxRetries: 3 })
    } catch {
      // It cannot be removed. The others are.
    }
  }
}

/** The temporary files of one request, in their own directory, which is created with the first file. */
export class TemporaryFiles {
  readonly #parent: string
  #directory: Promise<string> | undefined

  constructor(parent: string) {
    this.#parent = parent
  }

  /**
   * A new, unguessable path. mkdtemp creates the directory with mode 0700, so no other user can create a file in it.
   */
  async createPath(): Promise<string> {
    this.#directory ??= this.#createDirectory()
    return path.join(await this.#directory, randomUUID())
  }

  /** Removes the directory and its files. Never rejects. */
  async remove(): Promise<void> {
    const directory = await this.#directory?.catch(() => undefined)
    if (directory === undefined) return
    // A directory that cannot be removed stays.
    await rm(directory, { recursive: true, force: true }).catch(() => undefined)
    noteRemoval(directory)
  }

  async #createDirectory(): Promise<string> {
    const directory = await mkdtemp(path.join(this.#parent, prefix))
    removeAtExit(directory)
    return directory
  }
}

/**
 * Removes the directories that killed processes have left: those of the same user that have not
 * changed for an hour. Other things with such a name, such as links, stay. Never rejects.
 */
export async function sweepTemporaryFiles(parent: string, now: number = Date.now()): Promise<void> {
  const names = await readdir(parent).catch(() => [])
  // A directory that another process removes at the same time, or that cannot be removed, does not stop the others.
  await Promise.allSettled(
    names.filter(name => ownName.test(name)).map(name => removeStale(path.join(parent, name), now)),
  )
}

async function removeStale(directory: string, now: number): Promise<void> {
  const status = await lstat(directory)
  const isOwn = status.isDirectory() && status.uid === process.getuid?.()
  // Links inside are removed, not followed.
  if (isOwn && status.mtimeMs < now - staleAfter) await rm(directory, { recursive: true, force: true })
}
