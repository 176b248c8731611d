import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { checkArguments, checkOptions } from '../errors/arguments.ts'
import { HTTP_ASSETS_UNREADABLE } from './errors.ts'

/** The file of a request. */
export interface StaticFile {
  readonly file: string
  /** The version in the URL of the request; `undefined` without one. */
  readonly version: string | undefined
}

/** The files of bundles have URLs below this path. */
const root = '/assets/'

/** Files that are served without a controller. The folders are listed once: no path is built from a request. */
export class StaticFiles {
  readonly #directories = new Map<string, Directory>()
  #public: string | undefined
  #files = new Map<string, string>()
  /** `undefined` without files, so that requests for pages look nothing up. */
  #publicFiles: ReadonlyMap<string, string> | undefined
  #urls = new Map<string, string>()

  /**
   * Serves the files in and below a directory under `/assets/<name>/`, but no hidden files and no backups. An optional
   * directory may be missing.
   *
   * @throws HTTP_ASSETS_UNREADABLE
   */
  add(name: string, directory: string, options: { readonly isOptional?: boolean } = {}): void {
    checkArguments('files.add(name, directory, options)', ['string', 'string', 'object'], name, directory, options)
    checkOptions('files.add(name, directory, options)', options, { isOptional: 'boolean' })
    this.#directories.set(name, { path: directory, isOptional: options.isOptional === true })
    this.load()
  }

  /**
   * Serves the files in and below a directory by their own paths: `/robots.txt`, `/.well-known/security.txt`.
   * The directory may be missing. No other hidden files are served, and no backups.
   *
   * @throws HTTP_ASSETS_UNREADABLE
   */
  addPublic(directory: string): void {
    checkArguments('files.addPublic(directory)', ['string'], directory)
    this.#public = directory
    this.load()
  }

  /** Lists the files (again). */
  load(): void {
    this.#files = new Map(
      [...this.#directories].flatMap(([name, directory]) => listFiles(name, `${root}${name}/`, directory)),
    )
    const listed = this.#public === undefined ? [] : listFiles('public', '/', { path: this.#public, isOptional: true })
    this.#publicFiles = listed.length === 0 ? undefined : new Map(listed)
    this.#urls = new Map()
  }

  /** The file for the path of a request, with any version or without; `undefined` if there is none. */
  find(requestPath: string): StaticFile | undefined {
    // Most requests are for pages.
    if (!requestPath.startsWith(root)) return this.#findPublic(requestPath)
    const file = this.#files.get(requestPath)
    if (file !== undefined) return { file, version: undefined }
    const [, version, name] = /^\/assets\/([0-9a-f]{8})\/(.+)$/.exec(requestPath) ?? []
    const versioned = this.#files.get(`${root}${name}`)
    return versioned === undefined ? undefined : { file: versioned, version }
  }

  /**
   * A served file, and its URL, that a path names by its place in a directory, such as `/public/logo.png`; or by its
   * name, as `/logo.png` does, if only one has it.
   */
  findMisplaced(directory: string, place: string): { readonly file: string; readonly url: string } | undefined {
    const wanted = path.join(directory, place)
    const all = Array.from([...this.#files, ...(this.#publicFiles ?? [])], ([url, file]) => ({ url, file }))
    const named = all.filter(({ file }) => path.basename(file) === path.basename(wanted))
    return named.find(({ file }) => file === wanted) ?? (named.length === 1 ? named[0] : undefined)
  }

  #findPublic(requestPath: string): StaticFile | undefined {
    const file = this.#publicFiles?.get(requestPath)
    return file === undefined ? undefined : { file, version: undefined }
  }

  /** The names of the files of bundles, such as `site/site.css`. */
  names(): string[] {
    return [...this.#files.keys()].map(url => url.slice(root.length))
  }

  /** The URL of a file, such as `site/site.css`. It changes with the content. `undefined` if there is no such file. */
  url(name: string): string | undefined {
    const known = this.#urls.get(name)
    if (known !== undefined) return known
    const file = this.#files.get(`${root}${name}`)
    if (file === undefined) return undefined
    const digest = createHash('sha256').update(readFileSync(file)).digest('hex')
    // The version is before the name, so that relative URLs in a stylesheet work.
    const url = `${root}${versionOf(digest)}/${name}`
    this.#urls.set(name, url)
    return url
  }
}

/** The version of a file, eight hex digits, by the SHA-256 of its content. */
export function versionOf(digest: string): string {
  return digest.slice(0, 8)
}

interface Directory {
  readonly path: string
  readonly isOptional: boolean
}

/** The files of a directory by their URLs, which begin with a prefix. */
function listFiles(name: string, prefix: string, directory: Directory): [string, string][] {
  return readEntries(name, directory)
    .filter(entry => entry.isFile())
    .map(entry => path.relative(directory.path, path.join(entry.parentPath, entry.name)).split(path.sep))
    .filter(([first = '', ...rest]) => {
      // The folder of RFC 8615 is hidden on a disk, but not on a website.
      const names = prefix === '/' && first === '.well-known' ? rest : [first, ...rest]
      return !names.some(name => unpublished.test(name))
    })
    .map(segments => [`${prefix}${segments.join('/')}`, path.join(directory.path, ...segments)])
}

/** Files and folders that begin with a dot (`.git`, `.env`), and the backups of editors and tools. */
const unpublished = /^\.|~$|^#.*#$|\.(?:bak|backup|old|orig|rej|save|sw[l-p]|tmp)$/i

function readEntries(name: string, { isOptional, path: directory }: Directory) {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (isOptional && code === 'ENOENT') return []
    throw new HTTP_ASSETS_UNREADABLE([name, directory, code], { cause: error })
  }
}
