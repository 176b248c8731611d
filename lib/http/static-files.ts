import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Files that are served as they are. The list is made from the disk: no path is ever made from a request. */
export class StaticFiles {
  readonly #directories = new Map<string, string>()
  #files = new Map<string, string>()
  #versions = new Map<string, string>()
  #urls = new Map<string, string>()

  /** Serves the files in and below a directory under `/assets/<name>/`; dot files are left out. */
  add(name: string, directory: string): void {
    this.#directories.set(name, directory)
    this.load()
  }

  /** Lists the files (again). */
  load(): void {
    this.#files = new Map([...this.#directories].flatMap(([name, directory]) => listFiles(name, directory)))
    this.#versions = new Map()
    this.#urls = new Map()
  }

  /** The file behind the path of a request; `undefined` when none is. */
  find(requestPath: string): string | undefined {
    return this.#files.get(requestPath)
  }

  /** The URL of a file, such as `site/site.css`, which changes with its content; `undefined` when there is none. */
  url(name: string): string | undefined {
    const known = this.#urls.get(name)
    if (known !== undefined) return known
    const file = this.#files.get(`/assets/${name}`)
    if (file === undefined) return undefined
    const url = `/assets/${name}?v=${this.version(file)}`
    this.#urls.set(name, url)
    return url
  }

  /** Eight hex digits that change with the content of a file. */
  version(file: string): string {
    let version = this.#versions.get(file)
    if (version === undefined) {
      version = createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 8)
      this.#versions.set(file, version)
    }
    return version
  }
}

function listFiles(name: string, directory: string): [string, string][] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.name.startsWith('.'))
    .map(entry => path.join(entry.parentPath, entry.name))
    .map(file => [`/assets/${name}/${path.relative(directory, file).replaceAll(path.sep, '/')}`, file])
}
