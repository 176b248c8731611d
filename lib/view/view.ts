import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type Handlebars from 'handlebars'
import type { Request } from '../http/request.ts'
import { suggestNames } from '../text/nearest-names.ts'
import { findMistakes, inlinePartials, listNodes, type Node } from './check-template.ts'
import { VIEW_HELPER_TAKEN, VIEW_RENDER_FAILED, VIEW_TEMPLATE_INVALID, VIEW_TEMPLATE_UNKNOWN } from './errors.ts'

/** Loaded with the first template, because most console commands need none. */
function loadHandlebars(): typeof Handlebars {
  // The package as one file loads three times as fast as its fifty files.
  return createRequire(import.meta.url)('handlebars/dist/handlebars.js')
}

/** Returns the version of the template engine. */
export function readHandlebarsVersion(): string {
  return loadHandlebars().VERSION
}

/** The data of a template, as a plain object. Handlebars reads own properties only: no methods, no Maps. */
export type ViewModel = Readonly<Record<string, unknown>>

/** One use of a helper in a template. */
export interface HelperCall {
  readonly positional: readonly unknown[]
  readonly named: Readonly<Record<string, unknown>>
  /** The request of the page, if it was passed to `render`. */
  readonly request: Request | undefined
}

/** A function that templates call by name. The result is escaped, unless it is an {@link HtmlFragment}. */
export type Helper = (call: HelperCall) => unknown

/** Renders templates. */
export interface View {
  /** Adds a helper for all templates. Call it before they are loaded. @throws VIEW_HELPER_TAKEN */
  addHelper(name: string, helper: Helper): void

  /** Wraps the function of each page and partial, outside of earlier decorators. Call it before they are loaded. */
  decorateTemplates(decorate: TemplateDecorator): void

  /**
   * Reads and checks all templates, also if they were read before. Without this call the first render does it.
   *
   * @throws VIEW_TEMPLATE_INVALID with every mistake
   */
  load(): void

  /** The sorted names of the loaded templates. */
  names(): Iterable<string>

  /**
   * Renders a template. Its name is the path without `.hbs`. Returns a promise only if the page has to wait for a
   * fragment.
   *
   * @throws VIEW_TEMPLATE_UNKNOWN VIEW_RENDER_FAILED
   */
  render(name: string, model: ViewModel, request?: Request): string | Promise<string>
}

/** Replaces the function of a template by another one, for pages and partials. */
export type TemplateDecorator = (name: string, template: Template) => Template

/** The options of a view. */
export interface ViewOptions {
  /** The folders with templates, besides the directory itself; all folders by default. */
  readonly folders?: readonly string[]
}

/** Creates a view of the `.hbs` files in and below a directory. Each file is also a partial under its name. */
export function createView(directory: string, options: ViewOptions = {}): View {
  return new HandlebarsView(directory, options)
}

/** The helpers of Handlebars, which cannot be replaced. */
const builtIn: ReadonlySet<string> = new Set(
  'blockHelperMissing each helperMissing if log lookup unless with'.split(' '),
)

/** The function of a page or partial. */
export type Template = (model: unknown, options?: PartialOptions) => string

/**
 * The options that Handlebars passes from a template to its partials: helpers and others that are the same for all
 * pages.
 */
type PartialOptions = Handlebars.RuntimeOptions

/** The fragments of a page that are not complete, by the marker in their place. */
type Pending = Map<string, Promise<string>>

class HandlebarsView implements View {
  readonly #directory: string
  readonly #folders: readonly string[] | undefined
  readonly #decorators: TemplateDecorator[] = []
  readonly #helpers = new Map<string, Helper>()
  #templates: ReadonlyMap<string, Template> | undefined
  #partialOptions: PartialOptions = {}

  constructor(directory: string, { folders }: ViewOptions) {
    this.#directory = directory
    this.#folders = folders
  }

  addHelper(name: string, helper: Helper): void {
    if (builtIn.has(name)) throw new VIEW_HELPER_TAKEN([name, 'Handlebars has one of that name'])
    if (this.#helpers.has(name)) throw new VIEW_HELPER_TAKEN([name, 'there is one of that name already'])
    this.#helpers.set(name, helper)
  }

  decorateTemplates(decorate: TemplateDecorator): void {
    this.#decorators.push(decorate)
  }

  load(): void {
    this.#read()
  }

  #read(): ReadonlyMap<string, Template> {
    const handlebars = loadHandlebars().create()
    for (const [name, helper] of this.#helpers) handlebars.registerHelper(name, toHandlebars(helper, handlebars))
    const sources = readTemplates(this.#directory, this.#folders)
    check(handlebars, sources)

    const knownHelpers = Object.fromEntries(Object.keys(handlebars.helpers).map(name => [name, true]))
    const options = { strict: true, knownHelpers, knownHelpersOnly: true, preventIndent: true }
    const compile = (name: string, source: string) => {
      const template: Template = handlebars.compile(source, options)
      return this.#decorators.reduce((inner, decorate) => decorate(name, inner), template)
    }
    const templates = new Map([...sources].map(([name, source]) => [name, compile(name, source)]))
    for (const [name, template] of templates) handlebars.registerPartial(name, template)
    this.#templates = templates
    this.#partialOptions = capturePartialOptions(handlebars)
    return templates
  }

  names(): Iterable<string> {
    return this.#templates?.keys() ?? []
  }

  render(name: string, model: ViewModel, request?: Request): string | Promise<string> {
    const templates = this.#templates ?? this.#read()
    const template = templates.get(name)
    if (template === undefined) {
      throw new VIEW_TEMPLATE_UNKNOWN([name, this.#directory, suggestNames(name, templates.keys())])
    }
    const pending: Pending = new Map()
    let page: string
    try {
      page = template(model, { ...this.#partialOptions, data: { root: model, request, pending } })
    } catch (error) {
      throw new VIEW_RENDER_FAILED([name, error instanceof Error ? error.message : String(error)], { cause: error })
    }
    return pending.size === 0 ? page : insertFragments(page, pending)
  }
}

/**
 * Gets the options with which Handlebars renders a partial. With them each page is rendered as a partial of one root
 * template. Without them Handlebars wraps all helpers for each page, which costs 9 µs and keeps the garbage collector
 * busy. No option of Handlebars avoids that, so a function partial of a root template keeps the options that it gets.
 */
function capturePartialOptions(handlebars: typeof Handlebars): PartialOptions {
  let captured: PartialOptions = {}
  handlebars.registerPartial('page', (_model: unknown, options: PartialOptions = {}) => {
    captured = options
    return ''
  })
  handlebars.compile('{{> page}}')({})
  handlebars.unregisterPartial('page')
  return captured
}

function readTemplates(directory: string, folders: readonly string[] | undefined): Map<string, string> {
  const isWanted = (file: string) => {
    const [folder = '', ...rest] = file.split(path.sep)
    return folders === undefined || rest.length === 0 || folders.includes(folder)
  }
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
    file => file.endsWith('.hbs') && isWanted(file),
  )
  return new Map(
    files.sort().map(file => {
      const name = file.slice(0, -'.hbs'.length).replaceAll(path.sep, '/')
      return [name, readFileSync(path.join(directory, file), 'utf8')]
    }),
  )
}

/** Parses all templates: Handlebars itself would compile them, and find their mistakes, at the first render. */
function check(handlebars: typeof Handlebars, sources: ReadonlyMap<string, string>): void {
  const mistakes: string[] = []
  const parsed = new Map<string, readonly Node[]>()
  for (const [name, source] of sources) {
    try {
      // The handling of white space does not matter for the check.
      parsed.set(name, listNodes(handlebars.parseWithoutProcessing(source)))
    } catch (error) {
      mistakes.push(`${name}.hbs: ${explain((error as Error).message)}`)
    }
  }
  const known = {
    templates: new Set([...sources.keys(), ...[...parsed.values()].flatMap(inlinePartials)]),
    helpers: new Set(Object.keys(handlebars.helpers)),
  }
  for (const [name, nodes] of parsed) {
    for (const mistake of findMistakes(nodes, known)) mistakes.push(`${name}.hbs: ${mistake}`)
  }
  if (mistakes.length > 0) throw new VIEW_TEMPLATE_INVALID([mistakes.join('\n')])
}

/** At the end of a file, an error of the grammar mostly means that a block has no end. */
function explain(message: string): string {
  return message.endsWith("got 'EOF'") ? `${message}\nA block such as {{#if …}} has no end.` : message
}

/** Converts a helper to one of Handlebars. No other code uses SafeString. */
function toHandlebars(helper: Helper, Handlebars: typeof import('handlebars')): Handlebars.HelperDelegate {
  return (...parameters: unknown[]) => {
    // The options of Handlebars are the last argument.
    const { hash, data } = parameters.at(-1) as { hash: Record<string, unknown>; data: RenderData }
    const result = helper({ positional: parameters.slice(0, -1), named: inWrittenOrder(hash), request: data.request })
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

/** Handlebars passes named values in reverse order. */
function inWrittenOrder(hash: Record<string, unknown>): Record<string, unknown> {
  const values = Object.entries(hash)
  return values.length < 2 ? hash : Object.fromEntries(values.reverse())
}

interface RenderData {
  readonly request: Request | undefined
  readonly pending: Pending
}

/** Replaces each marker by its fragment when all fragments are complete: Handlebars itself is synchronous. */
async function insertFragments(page: string, pending: Pending): Promise<string> {
  const fragments = await Promise.all(pending.values())
  return [...pending.keys()].reduce((text, marker, index) => text.replace(marker, () => String(fragments[index])), page)
}

/** Trusted HTML of a helper. It is written into the page unescaped. A promise of it is awaited. */
export class HtmlFragment {
  readonly content: string | Promise<string>

  constructor(content: string | Promise<string>) {
    this.content = content
  }
}
