import type { Application } from '../../../kernel/bundle.ts'
import { type ControllerResolver, createDeclarations, nameOfController } from '../../../kernel/controller.ts'
import type { Route } from '../../../lib/routing/route.ts'
import type { Caller, CallerPlace } from '../../../lib/stack/callers.ts'
import { resolveLocated, showPath } from '../../../lib/stack/stack-frames.ts'
import type { View } from '../../../lib/view/view.ts'
import { nameFrame } from '../profile/callers.ts'
import { formatPlace } from '../profile/format.ts'
import { knownEditors, type PathMapping, profilerSettings } from '../settings.ts'

/** A place in a file: an absolute path, the line and the column, from 1. */
export interface FilePlace {
  readonly file: string
  readonly line: number
  readonly column: number
}

interface EditorOptions {
  /** An address with `{file}`, `{line}` and `{column}`; without it there are no links. */
  readonly editorUrl?: string | undefined
  readonly editorPaths?: readonly PathMapping[]
  /** The directory of the application: relative names of files start there. */
  readonly directory: string
  /** Whether it is the directory of another program: then the whole path of a place is opened. */
  readonly isOther?: boolean
  /** Whether the directory is not known: no place is opened. */
  readonly isUnknown?: boolean
  /** The routes of the application and its registered controllers, whose declarations can be opened. */
  readonly routes?: Iterable<Route>
  readonly controllers?: Pick<ControllerResolver, 'registered'>
  /** Has the files of the templates. */
  readonly view?: Pick<View, 'files'> | undefined
}

/** Creates the links that the settings of the profiler describe. */
export function createEditorLinks({
  controllers,
  directory,
  routes,
  settings,
  view,
}: Pick<Application, 'controllers' | 'directory' | 'routes' | 'settings'> & Pick<EditorOptions, 'view'>): EditorLinks {
  const { EDITOR_PATHS, EDITOR_URL } = settings.of(profilerSettings)
  return new EditorLinks({ editorUrl: EDITOR_URL, editorPaths: EDITOR_PATHS, directory, routes, controllers, view })
}

/** A place in the code, as the templates `profiler/call` and `profiler/place` show it. */
export interface PlaceView {
  /** The function; empty at top level. */
  readonly call: string
  /** The shown text; empty if the place is not known. */
  readonly place: string
  /** Opens the place in the editor; empty without a pattern for links. */
  readonly link: string
  /**
   * For the script that opens the place without a link: the column, `0` if the text contains it,
   * or else the whole place. Empty with a link, and for a place that is no file.
   */
  readonly at: string
  /** Whether the text names the function that ran, because the line is not known. */
  readonly isIn: boolean
  /** The helpers through which the place made its call, the outermost first. */
  readonly via: readonly PlaceView[]
  /** The places that have called it, the nearest first. */
  readonly callers: readonly PlaceView[]
}

/** Creates links that open a file in the editor of the developer. */
export class EditorLinks {
  readonly #options: EditorOptions
  #declared: ReturnType<typeof readDeclared> | undefined

  constructor(options: EditorOptions) {
    this.#options = options
  }

  /**
   * The links to places of another program. The declarations of this application are not its.
   * Without its directory, there are none.
   */
  in(directory: string | undefined): EditorLinks {
    const { editorPaths = [], editorUrl } = this.#options
    if (directory === undefined) return new EditorLinks({ directory: '', isUnknown: true })
    return new EditorLinks({ editorPaths, editorUrl, directory, isOther: true })
  }

  /**
   * The link to a place; empty without a pattern, and for names that are not files (`node:fs`, a name that was cut).
   */
  link(file = '', line = 1, column = 1): string {
    const { editorUrl } = this.#options
    return editorUrl === undefined || !isFile(file) ? '' : this.#fill(editorUrl, { file, line, column })
  }

  /** The links that open a place in each known editor. */
  editorsOf(place: FilePlace) {
    return knownEditors.map(({ label, name, pattern }) => ({ name, label, link: this.#fill(pattern, place) }))
  }

  /**
   * The view of a place whose text is its file and line. With helpers, or without a line, the text
   * is its function and line.
   */
  view(caller: CallerPlace): PlaceView {
    const { callers = [], isIn = false, via = [] } = caller
    const views = (places: readonly Caller[]) => places.map(place => this.#viewFrame(place))
    if (isIn || via.length > 0) {
      return { ...this.#viewFrame(caller), isIn, via: views(via), callers: views(callers) }
    }
    const place = formatPlace({ file: showPath(caller.file ?? '', this.#options.directory), line: caller.line })
    return { ...this.#view(place, caller, String(caller.column ?? 1)), callers: views(callers) }
  }

  /** The view of a place whose text has no folders; `false` if the place is not known. */
  viewCaller(caller: CallerPlace = {}): PlaceView | false {
    return caller.isIn || caller.via !== undefined ? this.view(caller) : this.viewFile(formatPlace(caller))
  }

  /** The text of a place without folders, for lines that cannot have a link; empty if it is not known. */
  nameCaller(caller: CallerPlace | undefined): string {
    const view = this.viewCaller(caller)
    return view === false ? '' : view.place
  }

  #viewFrame(place: Caller): PlaceView {
    return this.viewName(nameFrame(place), place)
  }

  /** The view of a place whose text contains its column, such as a frame of a stack. */
  viewWhole(place: string, caller: Caller): PlaceView {
    return this.#view(place, caller, '0')
  }

  /** The view of a text such as `bundles/shop/shop-bundle.ts:12`. */
  viewText(text: string): PlaceView {
    return this.#view(text, parsePlace(text), '1')
  }

  /** The view of such a text without its folders: `shop-bundle.ts:12`; `false` if the text is empty. */
  viewFile(text: string): PlaceView | false {
    return text !== '' && this.viewName(text.replace(/^.*\//s, ''), parsePlace(text))
  }

  /** The view of a name whose place is known, such as that of a controller; without a place, the name alone. */
  viewName(name: string, caller: Caller = {}): PlaceView {
    const { column = 1, file = '', line = 1 } = caller
    return this.#view(
      name,
      { ...caller, function: '' },
      [showPath(file, this.#options.directory), line, column].join(':'),
    )
  }

  /** The view of the name of a route, which leads to its declaration. */
  viewRoute(name: string): PlaceView {
    return this.viewName(name, this.#readDeclared().routes.get(name))
  }

  /** The view of the name of a controller, which leads to its definition, or else to the route that names it. */
  viewController(name: string): PlaceView {
    return this.viewName(name, this.#readDeclared().controllers.get(name))
  }

  /** The view of the name of a template, which leads to its file. */
  viewTemplate(name: string): PlaceView {
    return this.viewName(name, this.#findTemplate(name))
  }

  /** Finds the file of a template, with its first line; empty if there is none. */
  findTemplate(name: string): string {
    return this.#format(this.#findTemplate(name))
  }

  #findTemplate(name: string): Caller | undefined {
    const { file } = this.#options.view?.files().find(each => each.name === name) ?? {}
    return file === undefined ? undefined : { file, line: 1 }
  }

  /** Finds where a controller is defined: its file and line; empty if that is not known. */
  findController(name: string): string {
    return this.#format(this.#readDeclared().controllers.get(name))
  }

  /** Finds where the controller of a request is defined, or else its route declared; empty if neither is known. */
  findDefinition({ controller, route }: { readonly controller: string | null; readonly route: string | null }): string {
    return this.findController(controller ?? '') || this.findRoute(route ?? '')
  }

  /** Finds where a route is declared: its file and line; empty if that is not known. */
  findRoute(name: string): string {
    return this.#format(this.#readDeclared().routes.get(name))
  }

  #format({ file = '', line }: Caller = {}): string {
    return formatPlace({ file: showPath(file, this.#options.directory), line })
  }

  /** Reads the places when the first page is shown: then all bundles have added their routes. */
  #readDeclared() {
    this.#declared ??= readDeclared(this.#options)
    return this.#declared
  }

  #fill(pattern: string, { column, file, line }: FilePlace): string {
    const values = { file: encode(this.#map(resolveLocated(file, this.#options.directory))), line, column }
    return pattern.replace(/\{(file|line|column)\}/g, (_, name: keyof typeof values) => String(values[name]))
  }

  #view(place: string, { column, file = '', function: call = '', line }: Caller, at: string): PlaceView {
    const { directory, isOther, isUnknown } = this.#options
    const link = this.link(file, line, column)
    const isOpenable = link === '' && isFile(file) && isUnknown !== true
    const opened = isOther ? [resolveLocated(file, directory), line ?? 1, column ?? 1].join(':') : at
    return { call, place, link, at: isOpenable ? opened : '', isIn: false, via: [], callers: [] }
  }

  #map(file: string): string {
    const mapping = this.#options.editorPaths?.find(({ from }) => file === from || file.startsWith(`${from}/`))
    return mapping === undefined ? file : mapping.to + file.slice(mapping.from.length)
  }
}

function parsePlace(text: string): Caller {
  const [, file, line] = /^(.+):(\d+)$/s.exec(text) ?? []
  return { file, line: line === undefined ? undefined : Number(line) }
}

/** Whether a name is that of a file: not `node:fs`, and not a name that was cut. */
function isFile(file: string): boolean {
  return file !== '' && !file.includes(':') && !file.endsWith('…')
}

/** Reads the places of routes and of controllers by their names, as they are now. */
function readDeclared({ controllers: known = { registered: [] }, directory, routes = [] }: EditorOptions) {
  const sites = new Map<string, Caller>()
  const controllers = new Map<string, Caller>()
  const declarations = createDeclarations({ controllers: known, directory, routes })
  for (const route of routes) {
    const site = declarations.find(route)
    if (site !== undefined) sites.set(route.name, site)
    const definition = declarations.find(route.controller) ?? site
    const name = nameOfController(route.controller, route.name)
    if (definition !== undefined && !controllers.has(name)) controllers.set(name, definition)
  }
  for (const controller of known.registered) {
    const definition = declarations.find(controller)
    if (definition !== undefined && !controllers.has(controller.name)) controllers.set(controller.name, definition)
  }
  return { routes: sites, controllers }
}

/** The result fits a path and a query: slashes stay. */
function encode(file: string): string {
  return encodeURIComponent(file.toWellFormed()).replaceAll('%2F', '/')
}
