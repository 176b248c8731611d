import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { ARGUMENT_INVALID, checkFunction, checkString, refuseLate } from '../errors/arguments.ts'
import { Request } from '../http/request.ts'
import { showPath } from '../stack/stack-frames.ts'
import { describeValue } from '../text/describe-value.ts'
import { checkTemplates, type HelperCheck, suggestTemplates, type TemplateEngine } from './check-templates.ts'
import { VIEW_HELPER_TAKEN, VIEW_RENDER_FAILED, VIEW_TEMPLATE_UNKNOWN } from './errors.ts'
import {
  addFrames,
  explainFailure,
  findCallers,
  HelperFailure,
  locateNodes,
  notedTemplates,
  readValue,
} from './failed-place.ts'
import { type Global, Globals, type GlobalValues, Registrations } from './globals.ts'
import {
  blockHelpers,
  capturePartialOptions,
  createCompiler,
  createHandlebars,
  type HandlebarsHelper,
  type HandlebarsPackage,
  type HelperLocation,
  type PartialOptions,
  valueReader,
  valueWriter,
} from './handlebars.ts'
import {
  foldersFor,
  listTemplates,
  listUnused,
  readTemplate,
  type TemplateFile,
  type TemplateFolder,
} from './template-files.ts'
import { parseAhead } from './template-uses.ts'
import type { ValueCheck } from './value-mistakes.ts'

/** The data of a template, as an object. Handlebars reads own properties only: no methods, no Maps, no promises. */
export type ViewModel = object

/** One use of a helper in a template. */
export interface HelperCall {
  /** The values without a name, in their order. */
  readonly positional: readonly unknown[]
  /** The values with a name: `{{price cents currency="EUR"}}` has `currency`. */
  readonly named: Readonly<Record<string, unknown>>
  /** The request of the page, if it was passed to `render`. */
  readonly request: Request | undefined
}

/** A helper that takes its values as arguments would write `[object Object]`. */
class CheckedHelperCall implements HelperCall {
  readonly positional: readonly unknown[]
  readonly named: Readonly<Record<string, unknown>>
  readonly request: Request | undefined

  constructor(positional: readonly unknown[], named: Readonly<Record<string, unknown>>, request: Request | undefined) {
    this.positional = positional
    this.named = named
    this.request = request
  }

  [Symbol.toPrimitive](): never {
    throw new ARGUMENT_INVALID(['addHelper()', 'its function takes one object: ({ positional, named, request }) => …'])
  }
}

/** A function that templates call by name. The result is escaped, unless it is an {@link HtmlFragment}. */
export type Helper = (call: HelperCall) => unknown

/** Renders templates. */
export interface View {
  /**
   * Adds a helper for all templates. Call it before they are loaded. When they are, the check gets each call of
   * the helper as it is written: an error that it throws is a mistake of the template. @throws VIEW_HELPER_TAKEN
   */
  addHelper(name: string, helper: Helper, check?: HelperCheck): void

  /**
   * Adds a value that each template can use as `{{@name}}`, also in layouts, partials and blocks. A function
   * computes the value from the main request, once for each request with a page that uses it; a promise is
   * awaited before the page is rendered. Call it before templates are loaded. @throws VIEW_GLOBAL_INVALID
   */
  addGlobal(name: string, value: Global): void

  /** The names of all globals. */
  globals(): readonly string[]

  /** Wraps the function of each page and partial, outside of earlier decorators. Call it before they are loaded. */
  decorateTemplates(decorate: TemplateDecorator): void

  /**
   * Reads and checks all templates, also if they were read before. Without this call the first render does it.
   *
   * @throws VIEW_TEMPLATE_INVALID with every mistake; VIEW_FOLDER_UNREADABLE
   */
  load(): void

  /** The files of the loaded templates, sorted by name. */
  files(): readonly TemplateFile[]

  /**
   * Renders a template. Its name is the path without `.hbs`. Returns a promise only if the page has to wait for a
   * fragment or a global.
   *
   * @throws VIEW_TEMPLATE_UNKNOWN VIEW_RENDER_FAILED, also for a promise in the model
   */
  render(name: string, model: ViewModel, request?: Request): string | Promise<string>
}

/** Replaces the function of a template by another one, for pages and partials. */
export type TemplateDecorator = (name: string, template: Template) => Template

/**
 * Creates a view of the `.hbs` files in and below some folders. The first folder is that of the application. The
 * template of a name is in the first folder that has it. Each template is also a partial under its name.
 * `bundles` are the names of the folders that are read in the application's folder; all by default. The callback
 * creates a check of the values that pages show; it gets the directory to which names of files are relative.
 */
export function createView(
  folders: readonly TemplateFolder[],
  bundles?: readonly string[],
  createCheck?: (directory: string, globals: readonly string[]) => ValueCheck,
): View {
  return new HandlebarsView(folders, bundles, createCheck)
}

/**
 * The file of a template whose page depends on its model and helpers alone: it uses no global, and no bundle
 * has decorated the view or its templates. `undefined` for other templates, and before templates are loaded.
 */
export function findPlainTemplate(view: View, name: string): string | undefined {
  return view instanceof HandlebarsView ? view.findPlainTemplate(name) : undefined
}

/** Parses the templates of folders. A view of this process that reads the same texts later is loaded in less time. */
export function parseTemplates(folders: readonly TemplateFolder[]): void {
  parseAhead(listTemplates(folders, undefined), toEngine(createHandlebars()).parse)
}

/** The helpers of Handlebars, which cannot be replaced. */
const builtIn: ReadonlySet<string> = new Set(
  'blockHelperMissing each helperMissing if log lookup unless with'.split(' '),
)

const oneValue =
  'it takes one value, such as the result of a helper: (eq status "open"); a name for each item is "as |item|"'

const builtInChecks: readonly (readonly [string, HelperCheck])[] = [
  ...blockHelpers.map(name => [name, refuseUnless(`{{#${name}}}`, length => length === 1, oneValue)] as const),
  ['lookup', refuseUnless('{{lookup}}', length => length === 2, 'it takes two values: {{lookup prices book.id}}')],
  ['log', refuseUnless('{{log}}', length => length > 0, 'it takes values: {{log "price" cents}}')],
]

function refuseUnless(call: string, isRight: (count: number) => boolean, mistake: string): HelperCheck {
  return ({ positional }) => {
    if (!isRight(positional.length)) throw new ARGUMENT_INVALID([call, mistake])
  }
}

/** The function of a page or partial. */
export type Template = (model: unknown, options?: PartialOptions) => string

/** The fragments of a page that are not complete, by the marker in their place. */
type Pending = Map<string, Promise<string>>

class HandlebarsView implements View {
  readonly #folders: readonly TemplateFolder[]
  readonly #bundles: readonly string[] | undefined
  readonly #createCheck: ((directory: string, globals: readonly string[]) => ValueCheck) | undefined
  /** The application's directory, or its equivalent in a test. */
  readonly #root: string
  readonly #decorators: TemplateDecorator[] = []
  readonly #helpers = new Map<string, Helper>()
  readonly #checks = new Map(builtInChecks)
  readonly #registrations = new Registrations()
  readonly #globals = new Globals()
  /** The names of the globals that a page and its partials use, by its name; absent for pages without any. */
  #used: ReadonlyMap<string, readonly string[]> = new Map()
  #files: readonly TemplateFile[] = []
  #templates: ReadonlyMap<string, Template> | undefined
  /** Whether the application has started. A bundle that renders a page before has read the templates, too. */
  #isLoaded = false
  #partialOptions: PartialOptions = {}

  constructor(
    folders: readonly TemplateFolder[],
    bundles: readonly string[] | undefined,
    createCheck: ((directory: string, globals: readonly string[]) => ValueCheck) | undefined,
  ) {
    this.#folders = folders
    this.#bundles = bundles
    this.#createCheck = createCheck
    this.#root = path.dirname(folders[0]?.path ?? '')
  }

  addHelper(name: string, helper: Helper, check?: HelperCheck): void {
    checkString('addHelper(name, function)', 'the name', name)
    checkFunction('addHelper(name, function)', `the helper "${name}"`, helper)
    if (check !== undefined) checkFunction('addHelper(name, function, check)', 'the check', check)
    if (builtIn.has(name)) throw new VIEW_HELPER_TAKEN([name, 'Handlebars has one of that name'])
    const place = this.#registrations.find(name, this.#root)
    if (place !== undefined) throw new VIEW_HELPER_TAKEN([name, `there is one of that name already${place}`])
    this.#refuseLate(`view.addHelper("${name}")`)
    this.#registrations.note(name)
    this.#helpers.set(name, helper)
    if (check !== undefined) this.#checks.set(name, check)
  }

  addGlobal(name: string, value: Global): void {
    this.#refuseLate(`view.addGlobal("${name}")`)
    this.#globals.add(name, value, this.#root)
  }

  globals(): readonly string[] {
    return this.#globals.names()
  }

  decorateTemplates(decorate: TemplateDecorator): void {
    this.#refuseLate('view.decorateTemplates()')
    this.#decorators.push(decorate)
  }

  /** What is added to loaded templates has no effect until they are read again. */
  #refuseLate(call: string): void {
    if (this.#isLoaded) refuseLate(call)
  }

  load(): void {
    this.#read()
    this.#isLoaded = true
  }

  #read(): ReadonlyMap<string, Template> {
    const check = this.#createCheck?.(this.#root, this.#globals.names())
    const handlebars = createHandlebars(check?.checkBlock)
    const { parse } = handlebars
    handlebars.parse = (source, options) => locateNodes(parse(source, options), options?.srcName ?? '')
    const helpers = Object.fromEntries(
      [...this.#helpers].map(each => [each[0], toHandlebars(each[1], handlebars, check)]),
    )
    handlebars.registerHelper(helpers)
    const files = listTemplates(this.#folders, this.#bundles)
    const sources = new Map(files.map(each => [each.name, readTemplate(each.file)]))
    if (check !== undefined)
      for (const { file, name } of files) check.checkSource(sources.get(name) ?? '', showPath(file, this.#root))
    const unused = () => listUnused(this.#folders, this.#bundles)
    const engine = { ...toEngine(handlebars), checks: this.#checks, globals: new Set(this.#globals.names()) }
    const isCore = ({ file }: TemplateFile) =>
      this.#folders.some(folder => folder.isCore && file.startsWith(folder.path + path.sep))
    // To parse all templates of the profiler takes 0.1 s.
    if (engine.globals.size > 0 || !files.every(isCore))
      this.#used = checkTemplates(files, sources, engine, this.#root, unused)

    const compile = createCompiler(handlebars, check !== undefined)
    const createTemplate = ({ file, name }: TemplateFile) => {
      const template: Template = compile(file, sources.get(name) ?? '', showPath(file, this.#root))
      return this.#decorators.reduce((inner, decorate) => decorate(name, inner), template)
    }
    const templates = new Map(files.map(each => [each.name, createTemplate(each)]))
    for (const [name, template] of templates) handlebars.registerPartial(name, template)
    this.#files = files
    this.#templates = templates
    this.#partialOptions = capturePartialOptions(handlebars, {
      ...helpers,
      [valueReader]: readValue,
      ...(check && { [valueWriter]: check.checkText }),
    })
    return templates
  }

  files(): readonly TemplateFile[] {
    return this.#files
  }

  /** See the function of this name. */
  findPlainTemplate(name: string): string | undefined {
    if (this.#decorators.length > 0 || this.#used.has(name)) return undefined
    return this.#files.find(each => each.name === name)?.file
  }

  render(name: string, model: ViewModel, request?: Request): string | Promise<string> {
    if (typeof name !== 'string') checkString('view.render(name, model, request)', 'the name', name)
    const templates = this.#templates ?? this.#read()
    const template = templates.get(name)
    if (template === undefined) {
      const folders = foldersFor(name, this.#folders).join(' and ')
      throw new VIEW_TEMPLATE_UNKNOWN([name, folders, this.#explainUnknown(name, templates.keys())])
    }
    checkModel(name, model)
    const used = this.#used.get(name)
    if (used === undefined) return this.#render(name, template, model, request)
    const goOn = (values: GlobalValues) => this.#render(name, template, model, request, { ...values, globals: used })
    const values = this.#globals.read(used, name, request)
    return values instanceof Promise ? values.then(goOn) : goOn(values)
  }

  /** The end of the message about an unknown template. */
  #explainUnknown(name: string, known: Iterable<string>): string {
    const unused = listUnused(this.#folders, this.#bundles).find(each => each.name === name)
    if (unused !== undefined) return `: the file ${showPath(unused.file, this.#root)} exists, but ${unused.reason}`
    return suggestTemplates(name, known)
  }

  #render(
    name: string,
    template: Template,
    model: ViewModel,
    request: Request | undefined,
    globals?: GlobalValues,
  ): string | Promise<string> {
    const pending: Pending = new Map()
    let page: string
    try {
      page = template(model, { ...this.#partialOptions, data: { root: model, request, pending, ...globals } })
    } catch (error) {
      throw this.#explain(name, error, model)
    }
    return pending.size === 0 ? page : insertFragments(page, pending)
  }

  /** Makes the error of a page. Its first calls are the places in templates, as far as they are known. */
  #explain(name: string, failure: unknown, model: ViewModel): Error {
    const [innermost = name] = notedTemplates(failure)
    const file = this.#files.find(each => each.name === innermost)?.file
    const page = { name, model: Object(model), files: this.#files, globals: this.globals(), root: this.#root }
    const { cause, place, reason } = explainFailure(failure, page, file)
    const error = new VIEW_RENDER_FAILED([name, reason], cause === undefined ? {} : { cause })
    if (place === undefined) return error
    const failed = { name: this.#nameOf(place.file), ...place }
    return addFrames(error, [failed, ...findCallers(notedTemplates(failure), this.#files)])
  }

  #nameOf(file: string): string {
    return this.#files.find(each => each.file === file)?.name ?? ''
  }
}

/** A promise would be an empty value in the page. @throws VIEW_RENDER_FAILED */
function checkModel(template: string, model: ViewModel): void {
  if (typeof model !== 'object' || model === null) {
    throw new VIEW_RENDER_FAILED([template, `its model must be an object, not ${describeValue(model)}`])
  }
  if (model instanceof Request)
    throw new VIEW_RENDER_FAILED([template, 'its model is the request: write view.render(name, model, request)'])
  for (const key in model) {
    const value = (model as Readonly<Record<string, unknown>>)[key]
    if (typeof value !== 'object' || value === null) continue
    // A list of promises is the result of `list.map(async …)`.
    if (!((Array.isArray(value) ? value[0] : value) instanceof Promise)) continue
    const advice = Array.isArray(value) ? 'a list of promises: use await Promise.all(…)' : 'a promise: await it'
    throw new VIEW_RENDER_FAILED([template, `"${key}" in its model is ${advice} before render()`])
  }
}

function toEngine(handlebars: HandlebarsPackage): Pick<TemplateEngine, 'parse' | 'token' | 'helpers'> {
  return {
    // The handling of white space does not matter for the check.
    parse: source => handlebars.parseWithoutProcessing(source),
    token: () => handlebars.Parser.lexer.yylloc,
    helpers: new Set(Object.keys(handlebars.helpers)),
  }
}

/** Converts a helper to one of Handlebars. No other code uses SafeString. */
function toHandlebars(helper: Helper, Handlebars: HandlebarsPackage, check?: ValueCheck): HandlebarsHelper {
  return function (this: unknown, ...parameters: unknown[]) {
    // The options of Handlebars are the last argument.
    const options = parameters.at(-1) as HelperOptions
    const { hash, data, loc } = options
    if (parameters.length === 1) check?.checkCall(this, options)
    else if (parameters.includes(undefined)) check?.checkArguments(this, parameters, options)
    let result: unknown
    try {
      result = helper(new CheckedHelperCall(parameters.slice(0, -1), inWrittenOrder(hash), data.request))
      if (result instanceof Promise) throw new ARGUMENT_INVALID(['addHelper()', promisedResult])
    } catch (error) {
      throw new HelperFailure(error, loc)
    }
    if (!(result instanceof HtmlFragment)) return result
    if (typeof result.content === 'string') return new Handlebars.SafeString(result.content)
    // The marker is random, so no data can contain it.
    const marker = `<!--${randomBytes(16).toString('hex')}-->`
    data.pending.set(marker, result.content)
    // If the page fails first, a later rejection of the fragment must not end the process.
    result.content.catch(() => undefined)
    return new Handlebars.SafeString(marker)
  }
}

const promisedResult =
  'its function returns a promise: return new HtmlFragment(promise) of trusted HTML, or await it in the controller'

/** Handlebars passes named values in reverse order. */
function inWrittenOrder(hash: Record<string, unknown>): Record<string, unknown> {
  const values = Object.entries(hash)
  return values.length < 2 ? hash : Object.fromEntries(values.reverse())
}

/** The options that Handlebars passes to a helper. */
interface HelperOptions {
  readonly name: string
  readonly hash: Record<string, unknown>
  readonly data: RenderData
  readonly loc: HelperLocation
}

interface RenderData {
  readonly root: object
  readonly request: Request | undefined
  readonly pending: Pending
}

/** Replaces each marker by its fragment when all fragments are complete: Handlebars itself is synchronous. */
async function insertFragments(page: string, pending: Pending): Promise<string> {
  const fragments = await Promise.all(pending.values())
  return [...pending.keys()].reduce((text, marker, index) => text.replace(marker, () => fragments[index] ?? ''), page)
}

/** Trusted HTML of a helper. It is written into the page unescaped. A promise of it is awaited. */
export class HtmlFragment {
  /** The HTML, which is not escaped. */
  readonly content: string | Promise<string>

  constructor(content: string | Promise<string>) {
    this.content = content
  }
}
