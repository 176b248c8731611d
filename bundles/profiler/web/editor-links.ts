import type { Foundation } from '../../../kernel/bundle.ts'
import type { Caller } from '../../../lib/stack/callers.ts'
import { resolveLocated } from '../../../lib/stack/locate-frame.ts'
import { showPath } from '../../../lib/text/show-path.ts'
import { formatPlace } from '../profile/format.ts'
import { type PathMapping, profilerSettings } from './settings.ts'

/** The options of editor links. */
interface EditorOptions {
  /** An address with `{file}`, `{line}` and `{column}`; without it there are no links. */
  readonly editorUrl?: string | undefined
  readonly editorPaths?: readonly PathMapping[]
  /** The directory of the application: relative names of files start there. */
  readonly directory: string
}

/** Creates the links that the settings of the profiler describe. */
export function createEditorLinks({ directory, settings }: Pick<Foundation, 'directory' | 'settings'>): EditorLinks {
  const { EDITOR_PATHS, EDITOR_URL } = settings.of(profilerSettings)
  return new EditorLinks({ editorUrl: EDITOR_URL, editorPaths: EDITOR_PATHS, directory })
}

/** A place in the code of the application. */
export interface PlaceView {
  /** The function; empty at top level. */
  readonly call: string
  /** Empty if it is not known. */
  readonly place: string
  /** Opens the place in the editor; empty without a link. */
  readonly link: string
}

/** Creates links that open a file in the editor of the developer. */
export class EditorLinks {
  readonly #pattern: string | undefined
  readonly #mappings: readonly PathMapping[]
  readonly #directory: string

  constructor({ editorUrl, editorPaths = [], directory }: EditorOptions) {
    this.#pattern = editorUrl
    this.#mappings = editorPaths
    this.#directory = directory
  }

  /** The link to a place; empty without an editor, and for names that are not files (`node:fs`, a name that was cut). */
  link(file = '', line = 1, column = 1): string {
    if (this.#pattern === undefined || file === '' || file.includes(':') || file.endsWith('…')) return ''
    const place = { file: encode(this.#map(resolveLocated(file, this.#directory))), line, column }
    return this.#pattern.replace(/\{(file|line|column)\}/g, (_, name: keyof typeof place) => String(place[name]))
  }

  /** The view of a place in the code, as the templates `profiler/call` and `profiler/place` show it. */
  view({ column, file = '', function: call = '', line }: Caller): PlaceView {
    const place = formatPlace({ file: showPath(file, this.#directory), line })
    return { call, place, link: this.link(file, line, column) }
  }

  #map(file: string): string {
    const mapping = this.#mappings.find(({ from }) => file === from || file.startsWith(`${from}/`))
    return mapping === undefined ? file : mapping.to + file.slice(mapping.from.length)
  }
}

/** The result fits a path and a query: slashes stay. */
function encode(file: string): string {
  return encodeURIComponent(file.toWellFormed()).replaceAll('%2F', '/')
}
