import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { home } from '../profile/links.ts'

/** A file that the pages of the profiler need. */
interface Asset {
  readonly content: Buffer
  readonly type: string
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=UTF-8',
  '.svg': 'image/svg+xml',
}

/** These stylesheets come first, because all others use them. */
const firstStyles: readonly string[] = ['tokens.css', 'base.css', 'parts.css']

/**
 * The profiler's one stylesheet, its scripts and its icon, below a path that changes with their content. They are not
 * among the application's static files, which are public. They are read once, with the first request for one of them. No
 * path is made from a request.
 */
export class Assets {
  readonly #styles: string
  readonly #folders: readonly string[]
  #files: ReadonlyMap<string, Asset> | undefined
  #version = ''

  /** All stylesheets of the folder `styles` become `profiler.css`; scripts and pictures are those in `folders`. */
  constructor(styles: string, ...folders: readonly string[]) {
    this.#styles = styles
    this.#folders = folders
  }

  /** The path of a file, such as `/_profiler/assets/1a2b3c4d/profiler.css`. */
  link(name: string): string {
    this.#read()
    return `${home}assets/${this.#version}/${name}`
  }

  /** A file of a version; `undefined` when the file does not exist, or the version has changed. */
  find(version: string, name: string): Asset | undefined {
    const files = this.#read()
    return version === this.#version ? files.get(name) : undefined
  }

  /** The text of the stylesheet, for a file that contains it. */
  get stylesheet(): string {
    return String(this.#read().get('profiler.css')?.content)
  }

  /** Discards the files: the next request for one of them reads them again. */
  forget(): void {
    this.#files = undefined
  }

  #read(): ReadonlyMap<string, Asset> {
    if (this.#files !== undefined) return this.#files
    const stylesheet = { content: joinStyles(this.#styles), type: 'text/css; charset=UTF-8' }
    this.#files = new Map([['profiler.css', stylesheet], ...this.#folders.flatMap(readAssets)])
    const hash = createHash('sha256')
    for (const [name, { content }] of this.#files) hash.update(name).update(content)
    this.#version = hash.digest('hex').slice(0, 8)
    return this.#files
  }
}

function joinStyles(folder: string): Buffer {
  const others = readdirSync(folder).filter(name => !firstStyles.includes(name))
  const names = [...firstStyles, ...others.sort()]
  return Buffer.concat(names.map(name => readFileSync(path.join(folder, name))))
}

function readAssets(folder: string): [string, Asset][] {
  return readdirSync(folder).flatMap((name): [string, Asset][] => {
    const type = types[path.extname(name)]
    return type === undefined ? [] : [[name, { content: readFileSync(path.join(folder, name)), type }]]
  })
}
