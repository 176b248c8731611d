import path from 'node:path'
import type { PathMapping } from '../../../lib/env/editor.ts'

/** How files are opened. */
export interface EditorOptions {
  /** With `{file}`, `{line}` and `{column}`; without one there are no links. */
  readonly editorUrl?: string | undefined
  readonly editorPaths?: readonly PathMapping[]
  /** The project's root, which relative names of files are relative to. */
  readonly directory: string
}

/** Makes links that open a file in the developer's editor. */
export class EditorLinks {
  readonly #pattern: string | undefined
  readonly #mappings: readonly PathMapping[]
  readonly #directory: string

  constructor({ editorUrl, editorPaths = [], directory }: EditorOptions) {
    this.#pattern = editorUrl
    this.#mappings = editorPaths
    this.#directory = directory
  }

  /** The link of a place; empty where no editor is set, and for what is no file (`node:fs`, a name that was cut). */
  link(file = '', line = 1, column = 1): string {
    if (this.#pattern === undefined || file === '' || file.includes(':') || file.endsWith('…')) return ''
    const place = { file: encode(this.#map(path.resolve(this.#directory, file))), line, column }
    return this.#pattern.replace(/\{(file|line|column)\}/g, (_, name: keyof typeof place) => String(place[name]))
  }

  #map(file: string): string {
    const mapping = this.#mappings.find(({ from }) => file === from || file.startsWith(`${from}/`))
    return mapping === undefined ? file : mapping.to + file.slice(mapping.from.length)
  }
}

/** For a path as well as for a query: slashes stay. */
function encode(file: string): string {
  return encodeURIComponent(file.toWellFormed()).replaceAll('%2F', '/')
}
