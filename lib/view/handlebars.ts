import { createRequire } from 'node:module'
import type Handlebars from 'handlebars'
import type { LexerToken } from './syntax-mistakes.ts'

/** The package, with the classes that its types leave out. */
export type HandlebarsPackage = typeof Handlebars & {
  JavaScriptCompiler: CodeGeneratorClass
  Compiler: new () => { compile(tree: unknown, options: object): unknown }
  /** The parser of all engines. Its lexer keeps the place of the token at which a parse has ended. */
  readonly Parser: { readonly lexer: { readonly yylloc: LexerToken } }
}

/** The location of a helper's call, in the options that Handlebars passes to the helper. */
export interface HelperLocation {
  readonly start: { readonly line: string; readonly column: number }
}

/** A helper as Handlebars calls it. */
export type HandlebarsHelper = Handlebars.HelperDelegate

/**
 * The options that Handlebars passes from a template to its partials: helpers and others that are the same for all
 * pages.
 */
export type PartialOptions = Handlebars.RuntimeOptions

/** The functions that Handlebars generates for a template. */
type TemplateFunctions = ReturnType<typeof Handlebars.precompile>

type CodeGeneratorClass = new () => CodeGenerator

/** Writes the JavaScript of a template. */
interface CodeGenerator {
  compile(environment: unknown, options: object, context: undefined, asObject: true): TemplateFunctions
  /** Creates the generators of blocks. */
  compiler: CodeGeneratorClass
  /** Returns the code that reads a name from the object `parent`. Subclasses may replace it. */
  nameLookup(parent: string, name: string, type: string): unknown
  /** Returns the code for a function of the engine, by its name. Subclasses may replace it. */
  aliasable(name: string): unknown
  /** Adds the code that writes the last value, escaped. Subclasses may replace it. */
  appendEscaped(): void
  popStack(): unknown
  pushStackLiteral(code: unknown): void
  quotedString(text: string): string
  /** The place in the template of the code that is written. */
  readonly source: { readonly currentLocation: HelperLocation }
}

/**
 * The name under which the function that reads a value is among the helpers. No template can call it: it has a blank.
 */
export const valueReader = 'value reader'

/** The name of the function that gets each written value before it is escaped, if values are checked. */
export const valueWriter = 'value writer'

const load = createRequire(import.meta.url)

/** Loaded with the first template, because most console commands need none. */
function loadHandlebars(): HandlebarsPackage {
  const isShared = sharedName in globalThis
  // The package as one file loads three times as fast as its fifty files.
  const handlebars = load('handlebars/dist/handlebars.js')
  if (!isShared) Reflect.deleteProperty(globalThis, sharedName)
  return handlebars
}

/**
 * The file has a copy of core-js, which makes a global variable of this name. Test runners report
 * the global variables of a test.
 */
const sharedName = '__core-js_shared__'

/** Returns the version of the template engine, without loading it. */
export function readHandlebarsVersion(): string {
  return load('handlebars/package.json').version
}

/**
 * Called with the data of a template, the value and the options of Handlebars, for each block of {@link blockHelpers}.
 */
type OnBlock = (data: unknown, value: unknown, options: never) => void

/** The helpers of Handlebars whose blocks depend on one value. */
export const blockHelpers: readonly string[] = ['each', 'if', 'unless', 'with']

/**
 * Creates a template engine with helpers and partials of its own. With the callback, its templates
 * call {@link valueWriter}.
 */
export function createHandlebars(onBlock?: OnBlock): HandlebarsPackage {
  // The type of `create` leaves out the same class.
  const handlebars = loadHandlebars().create() as HandlebarsPackage
  handlebars.JavaScriptCompiler = withDirectHelpers(handlebars.JavaScriptCompiler, onBlock !== undefined)
  for (const name of blockHelpers) handlebars.registerHelper(name, refusePromise(handlebars, name, onBlock))
  return handlebars
}

/** A block helper of Handlebars that does not take a promise for a value. */
function refusePromise({ Exception, helpers }: HandlebarsPackage, name: string, onBlock?: OnBlock): HandlebarsHelper {
  const inner = helpers[name] as HandlebarsHelper
  return function (this: unknown, value: unknown, options: Handlebars.HelperOptions) {
    // The options contain the location, although their type leaves it out.
    // Handlebars calls `if` for `unless`, without data.
    if (options.data !== undefined) onBlock?.(this, value, options as never)
    if (!(value instanceof Promise)) return inner.call(this, value, options)
    throw new Exception(`the value of {{#${name}}} is a promise: await it before render()`, options as never)
  }
}

/**
 * The values of a template are read by the helper {@link valueReader}. Handlebars looks up each
 * helper in two steps that protect data with unsafe names. Only known helpers are compiled, so
 * their names are safe; reading them directly saves a fourth of the time of a render.
 */
function withDirectHelpers(Inner: CodeGeneratorClass, isChecked: boolean): CodeGeneratorClass {
  class DirectHelpers extends Inner {
    override nameLookup(parent: string, name: string, type: string): unknown {
      return type === 'helper' ? `${parent}[${JSON.stringify(name)}]` : super.nameLookup(parent, name, type)
    }

    /** The function of Handlebars says only that a value is not defined. */
    override aliasable(name: string): unknown {
      return super.aliasable(name === 'container.strict' ? `helpers[${JSON.stringify(valueReader)}]` : name)
    }

    override appendEscaped(): void {
      if (isChecked) {
        const { column, line } = this.source.currentLocation.start
        const place = `${this.quotedString(line)},${column}`
        this.pushStackLiteral([`helpers[${JSON.stringify(valueWriter)}](`, this.popStack(), `,data,${place})`])
      }
      super.appendEscaped()
    }
  }
  DirectHelpers.prototype.compiler = DirectHelpers
  return DirectHelpers
}

/** A template, and its functions after its first render. */
interface CompiledTemplate {
  readonly source: string
  /** What else the functions depend on: the name in messages, the names of helpers, and whether values are checked. */
  readonly names: string
  functions?: TemplateFunctions
}

/**
 * The templates of the last compiler, by their files: to compile them takes most of the time of a
 * first page. The tests of an application boot many kernels with the same templates.
 */
let known: ReadonlyMap<string, CompiledTemplate> = new Map()

/**
 * Creates the function that compiles the templates of an engine, each at its first render. The next
 * compiler knows the templates that this one has compiled. `isChecked` is whether the engine has
 * a callback. `srcName` is the name of the file in messages.
 */
export function createCompiler(
  handlebars: HandlebarsPackage,
  isChecked: boolean,
): (file: string, source: string, srcName: string) => Handlebars.TemplateDelegate {
  const before = known
  const compiled = new Map<string, CompiledTemplate>()
  known = compiled
  const helpers = Object.keys(handlebars.helpers)
  const helperNames = `${helpers.join()} ${isChecked}`
  const generate = (source: string, srcName: string) => {
    const knownHelpers = Object.fromEntries(helpers.map(name => [name, true]))
    const options = { data: true, strict: true, knownHelpers, knownHelpersOnly: true, preventIndent: true, srcName }
    const environment = new handlebars.Compiler().compile(handlebars.parse(source, options), options)
    return new handlebars.JavaScriptCompiler().compile(environment, options, undefined, true)
  }
  return (file, source, srcName) => {
    const names = `${srcName} ${helperNames}`
    const earlier = before.get(file)
    const template: CompiledTemplate =
      earlier?.source === source && earlier.names === names ? earlier : { source, names }
    compiled.set(file, template)
    let render: Handlebars.TemplateDelegate | undefined
    return (model, options) => {
      template.functions ??= generate(source, srcName)
      render ??= handlebars.template(template.functions)
      return render(model, options)
    }
  }
}

/**
 * Gets the options with which Handlebars renders a partial. With them each page is rendered as a partial of one root
 * template. Without them Handlebars wraps all helpers for each page, which costs 9 µs and keeps the garbage collector
 * busy. No option of Handlebars avoids that, so a function partial of a root template keeps the options that it gets.
 * `direct` are helpers that are called without the wrapper: it gives them a function that they do not use.
 */
export function capturePartialOptions(
  handlebars: HandlebarsPackage,
  direct: Readonly<Record<string, (...values: never[]) => unknown>>,
): PartialOptions {
  let captured: PartialOptions = {}
  // No template has this name.
  handlebars.registerPartial('/', (_model: unknown, options: PartialOptions = {}) => {
    captured = options
    return ''
  })
  handlebars.compile('{{> "/"}}')({})
  handlebars.unregisterPartial('/')
  return { ...captured, helpers: { ...captured.helpers, ...direct } }
}
