import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { home } from './links.ts'

/**
 * The profiler's stylesheet and icon, under names that change with their content. They are not among the application's
 * static files: those are for everybody. The list is made once, no path ever comes from a request.
 */
export class AssetFolder {
  readonly #directory: string
  readonly #names: readonly string[]

  constructor(directory: string) {
    this.#directory = directory
    this.#names = readdirSync(directory)
  }

  /** The path of a request for a file, such as `/_profiler/assets/profiler-1a2b3c4d.css`. */
  link(name: string): string {
    return `${home}assets/${this.#hashed(name)}`
  }

  /** The file of a hashed name; `undefined` when there is none, or its content is another by now. */
  find(hashed: string): string | undefined {
    const name = this.#names.find(name => this.#hashed(name) === hashed)
    return name && path.join(this.#directory, name)
  }

  /** Read each time: a page of the profiler is not often asked for, and shows a stylesheet as it was just saved. */
  #hashed(name: string): string {
    const { ext, name: stem } = path.parse(name)
    const hash = createHash('sha256').update(readFileSync(path.join(this.#directory, name)))
    return `${stem}-${hash.digest('hex').slice(0, 8)}${ext}`
  }
}
