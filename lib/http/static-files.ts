import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { HTTP_ASSETS_UNREADABLE } from './errors.ts'

/** A file that a request asks for. */
export interface StaticFile {
  readonly file: string
  /** What the request takes for the file's version; `undefined` when it names none. */
  readonly version: string | undefined
}

/** Whatever stands below it is a file, and no file elsewhere is served. */
const root = '/assets/'

/** Files that are served as they are. The list is made from the disk: no path is ever made from a request. */
export class StaticFiles {
  readonly #directories = new Map<string, string>()
  #files = new Map<string, string>()
  #urls = new Map<string, string>()

  /**
   * Serves the files in and below a directory under `/assets/<name>/`, but no hidden files and no backups.
   * @throws HTTP_ASSETS_UNREADABLE
   */
  add(name: string, directory: string): void {
    this.#directories.set(name, directory)
    this.load()
  }

  /** Lists the files (again). */
  load(): void {
    this.#files = new Map([...this.#directories].flatMap(([name, directory]) => listFiles(name, directory)))
    this.#urls = new Map()
  }

  /** The file behind the path of a request, with a version (any) or without; `undefined` when none is. */
  find(requestPath: string): StaticFile | undefined {
    // Most requests are for pages.
    if (!requestPath.startsWith(root)) return undefined
    const file = this.#files.get(requestPath)
    if (file !== undefined) return { file, version: undefined }
    const [, version, name] = /^\/assets\/([0-9a-f]{8})\/(.+)$/.exec(requestPath) ?? []
    const versioned = this.#files.get(`${root}${name}`)
    return versioned === undefined ? undefined : { file: versioned, version }
  }

  /** The URL of a file, such as `site/site.css`, which changes with its content; `undefined` when there is none. */
  url(name: string): string | undefined {
    const known = this.#urls.get(name)
    if (known !== undefined) return known
    const file = this.#files.get(`${root}${name}`)
    if (file === undefined) return undefined
    const digest = createHash('sha256').update(readFileSync(file)).digest('hex')
    // Before the name, so that what a stylesheet names beside itself is found as well.
    const url = `${root}${versionOf(digest)}/${name}`
    this.#urls.set(name, url)
    return url
  }
}

/** The version of a file, eight hex digits, by the SHA-256 of its content. */
export function versionOf(digest: string): string {
  return digest.slice(0, 8)
}

function listFiles(name: string, directory: string): [string, string][] {
  return readEntries(name, directory)
    .filter(entry => entry.isFile())
    .map(entry => path.relative(directory, path.join(entry.parentPath, entry.name)).split(path.sep))
    .filter(segments => !segments.some(segment => unpublished.test(segment)))
    .map(segments => [`${root}${name}/${segments.join('/')}`, path.join(directory, ...segments)])
}

/** Files and folders whose names begin with a dot (`.git`, `.env`), and what editors and tools leave beside a file. */
const unpublished = /^\.|~$|^#.*#$|\.(?:bak|backup|old|orig|rej|save|sw[l-p]|tmp)$/i

function readEntries(name: string, directory: string) {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
  } catch (error) {
    // Node's own errors say why in their code.
    const { code } = error as NodeJS.ErrnoException
    throw new HTTP_ASSETS_UNREADABLE([name, directory, String(code)], { cause: error })
  }
}
