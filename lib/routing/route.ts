import type { KnownAttributes, Request } from '../http/request.ts'
import { knownMethods } from '../http/request-target.ts'
import { describeValue } from '../text/describe-value.ts'
import { findShapeMistakes, type ShapeOf } from '../text/mistakes.ts'
import { ROUTE_DEFINITION_INVALID } from './errors.ts'
import { Pattern, type Requirement, type Variables } from './pattern.ts'

/** A method of routes. */
export type RouteMethod = (typeof knownMethods)[number]

/** A scheme of routes. */
export type RouteScheme = (typeof knownSchemes)[number]

/** The declaration of a route: its name, path, methods and conditions, and the controller that answers it. */
export interface RouteDefinition<
  controller = unknown,
  path extends string = string,
  host extends string = string,
  defaults extends RouteDefaults = RouteDefaults,
> {
  /** The name in logs, profiles and URL generation. */
  readonly name: string
  /** Earlier names, for which URLs are still generated. A group does not change them. */
  readonly aliases?: readonly string[]
  /** The pattern in the syntax of path-to-regexp: `/item{/:id}`, `/wild/*rest`. It matches the percent-decoded path. */
  readonly path: path
  /** The controller, which routing only passes on. */
  readonly controller: controller
  /** Any method by default. GET includes HEAD. */
  readonly methods?: readonly RouteMethod[]
  /** Patterns for whole values of variables. If a value does not match, the path does not match. */
  readonly requirements?: RouteRequirements
  /** Values of variables that are not in the path, and attributes such as `_format` for the request. */
  readonly defaults?: defaults & DeclaredDefaults<defaults>
  /** A host without a port, with or without variables: `:tenant.example.com`. Any host by default. */
  readonly host?: host
  /** Any scheme by default. */
  readonly schemes?: readonly RouteScheme[]
  /** Checked after the path and the host. If it returns false, the route does not exist for this request. */
  readonly condition?: (request: Request) => boolean
  /**
   * The name of a guard of a bundle (`app.guards`), which must let a request pass. The guards of
   * groups are asked before.
   */
  readonly guard?: string
  /** Higher is tried earlier. Equal priorities are tried in the order of declaration. 0 by default. */
  readonly priority?: number
}

/** The shape of a route definition. */
export const definitionShape: ShapeOf<RouteDefinition> = {
  name: 'string',
  path: 'string',
  controller: true,
  methods: 'list',
  aliases: ['string'],
  requirements: 'object',
  defaults: 'object',
  host: 'string',
  schemes: 'list',
  condition: 'sync function',
  guard: 'string',
  priority: 'number',
}

/** Patterns for whole values of variables, by name. */
export type RouteRequirements = Readonly<Record<string, RegExp | string>>

/** What the groups of a route have declared for it. */
export interface SharedDefinition {
  /** Of variables that the route need not have. */
  readonly requirements?: RouteRequirements
  /** Those of the outer group first. */
  readonly guards?: readonly string[]
}

/** Whether a route matches a request, or the first reason against it. */
export type Evaluation =
  | { readonly outcome: 'match'; readonly parameters: RouteParameters }
  | { readonly outcome: 'requirement'; readonly requirement: Requirement }
  | { readonly outcome: 'path' | 'host' | 'condition' | 'scheme' | 'method' }

/** A checked and compiled route. */
export class Route {
  /** The name for URLs, redirects and profiles. */
  readonly name: string
  /** Earlier names, for which URLs are still generated. */
  readonly aliases: readonly string[]
  /** The pattern of the path. */
  readonly path: Pattern
  /** What answers the requests of the route. */
  readonly controller: unknown
  /** Any method when empty. */
  readonly methods: readonly RouteMethod[]
  /** Attributes of the requests of the route, such as `_format`. */
  readonly defaults: RouteParameters
  /** The pattern of the host, if the route has one. */
  readonly host: Pattern | undefined
  /** Any scheme when empty. */
  readonly schemes: readonly RouteScheme[]
  /** Decides for a request that fits whether the route takes it. */
  readonly condition: ((request: Request) => boolean) | undefined
  /** The names of the guards that must let a request pass, in their order. */
  readonly guards: readonly string[]
  /** Higher is tried earlier. The default is 0. */
  readonly priority: number
  readonly #defaultNames: readonly string[]
  readonly #plainMatch: Evaluation
  readonly #answeredMethods: ReadonlySet<string> | undefined

  /** `shared` is what groups have declared. @throws ROUTE_DEFINITION_INVALID */
  constructor(definition: RouteDefinition, shared: SharedDefinition = {}) {
    const { aliases = [], guard, name, path, host, methods, schemes } = definition
    const requirements = { ...shared.requirements, ...definition.requirements }
    const refuse = (reason: string, options?: { cause: unknown }): never => {
      throw new ROUTE_DEFINITION_INVALID([name, reason], options)
    }
    const compile = (subject: string, create: () => Pattern): Pattern => {
      try {
        return create()
      } catch (error) {
        // A pattern throws only TypeError and SyntaxError.
        return refuse(`${subject}: ${(error as Error).message}`, { cause: error })
      }
    }

    if (typeof name !== 'string' || typeof path !== 'string') {
      const found = `${describeValue(name)} and ${describeValue(path)}`
      refuse(`its name and its path are texts, such as get('books', '/books', …), not ${found}`)
    }
    const noGuard = [...(shared.guards ?? []), guard].find(each => each !== undefined && typeof each !== 'string')
    if (noGuard !== undefined) {
      const right = "the name of a guard, which a bundle adds by app.guards.push({ name: 'admin', check })"
      refuse(`"guard" is ${right}, not ${describeValue(noGuard)}`)
    }
    const [mistake] = findShapeMistakes('key', definition, definitionShape)
    if (mistake !== undefined) refuse(mistake)
    if (name === '') refuse(`the route of ${path} needs a name`)
    this.name = name
    this.aliases = aliases
    this.path = compile(`its path is ${path}`, () => new Pattern(path, { requirements }))
    if (this.path.forms.some(form => !form.leadingText.startsWith('/'))) {
      refuse(`its path is ${path}: it must begin with a slash, also without its optional parts`)
    }
    this.host =
      host === undefined
        ? undefined
        : compile(`its host is ${host}`, () => new Pattern(host, { requirements, delimiter: '.' }))
    const names = [...this.path.names, ...(this.host?.names ?? [])]
    const repeated = this.host?.names.find(variable => this.path.names.includes(variable))
    if (repeated !== undefined) refuse(`both its path and its host have a variable "${repeated}"`)
    const stray = Object.keys(definition.requirements ?? {}).find(variable => !names.includes(variable))
    if (stray !== undefined) {
      refuse(`it has a requirement for "${stray}", but its variables are: ${names.join(', ') || 'none'}`)
    }
    const wrong = checkList('methods', methods, knownMethods) ?? checkList('schemes', schemes, knownSchemes)
    if (wrong !== undefined) refuse(wrong)

    this.controller = definition.controller
    this.methods = methods ?? []
    this.schemes = schemes ?? []
    this.defaults = Object.freeze(Object.assign(Object.create(null), definition.defaults))
    this.#defaultNames = Object.keys(this.defaults)
    this.#plainMatch = { outcome: 'match', parameters: this.defaults }
    this.condition = definition.condition
    this.guards = [...new Set([...(shared.guards ?? []), ...(guard === undefined ? [] : [guard])])]
    this.priority = definition.priority ?? 0
    this.#answeredMethods = methods && new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)
  }

  /**
   * Decides whether the route matches a request; no other code decides it. With another path or scheme, the result is
   * that of a redirect to them.
   */
  evaluate(request: Request, path: string = request.path, scheme: RouteScheme = request.scheme): Evaluation {
    const pathMatch = this.path.match(path)
    if (pathMatch === undefined) return mismatches.path
    if (pathMatch.failed !== undefined) return { outcome: 'requirement', requirement: pathMatch.failed }
    const hostMatch = this.host === undefined ? anyHost : this.host.match(request.hostname)
    if (hostMatch?.names === undefined) return mismatches.host
    if (this.condition !== undefined && !this.#isTrue(this.condition(request))) return mismatches.condition
    // The method comes last: 405 means that only the method is wrong.
    if (this.schemes.length > 0 && !this.schemes.includes(scheme)) return mismatches.scheme
    if (this.#answeredMethods !== undefined && !this.#answeredMethods.has(request.method)) return mismatches.method
    if (pathMatch.names.length === 0 && hostMatch.names.length === 0) return this.#plainMatch

    const parameters: Record<string, unknown> = Object.create(null)
    // A loop, because Object.assign takes ten times as long with objects without a prototype.
    for (const name of this.#defaultNames) parameters[name] = this.defaults[name]
    assign(parameters, pathMatch)
    assign(parameters, hostMatch)
    return { outcome: 'match', parameters }
  }

  /** A promise would be true for each request. @throws ROUTE_DEFINITION_INVALID */
  #isTrue(held: unknown): boolean {
    if (held instanceof Promise)
      throw new ROUTE_DEFINITION_INVALID([
        this.name,
        'its condition returns a promise, and nothing awaits it: use a guard',
      ])
    return Boolean(held)
  }
}

function assign(parameters: Record<string, unknown>, { names, values }: Variables): void {
  for (let index = 0; index < names.length; index++) parameters[names[index] ?? ''] = values[index]
}

const anyHost: Variables = { names: [], values: [] }

const knownSchemes = ['http', 'https'] as const

/** Shared, because most routes do not match most requests. */
const mismatches = {
  path: { outcome: 'path' },
  host: { outcome: 'host' },
  condition: { outcome: 'condition' },
  scheme: { outcome: 'scheme' },
  method: { outcome: 'method' },
} as const

function checkList(noun: string, list: readonly string[] | undefined, known: readonly string[]): string | undefined {
  if (list?.length === 0) return `its ${noun} are an empty list; leave them out to allow all`
  const unknown = list?.find(value => !known.includes(value))
  return unknown === undefined ? undefined : `its ${noun} must be of ${known.join(', ')}, not "${unknown}"`
}

/** The defaults of a route, overwritten by the variables of its path and host. Without a prototype. */
export type RouteParameters = Readonly<Record<string, unknown>>

/** Values of variables that are not in the path, and attributes such as `_format`, by name. */
export type RouteDefaults = Readonly<Partial<KnownAttributes>> & Readonly<Record<string, unknown>>

/** The compiler completes the names of attributes, and refuses others with `_`, and other members of a policy. */
type DeclaredDefaults<defaults> = Readonly<Partial<KnownAttributes>> & {
  readonly [name in Exclude<
    Extract<keyof defaults, `_${string}`>,
    keyof KnownAttributes
  >]: Mistake<`"${name}" is not in KnownAttributes`>
} & {
  readonly [name in keyof defaults & ('_cache' | '_cors')]?: Known<defaults[name], Required<KnownAttributes>[name]>
}

/** Refuses the members of an object that a type does not have: a type parameter takes any. */
type Known<value, type> = value extends object
  ? value & {
      readonly [name in Exclude<keyof value, type extends object ? keyof type : never>]: Mistake<'This is no option'>
    }
  : unknown

/** A type that no value has. Of a text, the message of the compiler would say `undefined` instead. */
interface Mistake<text extends string> {
  readonly mistake: text
}

/** The defaults of a definition without defaults. */
export type NoDefaults = Readonly<Record<never, never>>

/**
 * The parameters of a route, by the text of its path and the types of its defaults: a text for each `:variable` and
 * `*wildcard`. A variable of an optional part may be `undefined`, or its default. For a path that is not known to the
 * compiler, any name is allowed, and its value is `unknown`.
 */
export type ParametersOf<source extends string, defaults extends object = NoDefaults> =
  Scan<source> extends readonly [infer always extends string, infer maybe extends string]
    ? string extends always
      ? RouteParameters
      : {
          readonly [name in always | maybe | keyof defaults]: name extends always
            ? string
            : (name extends maybe ? string : never) | (name extends keyof defaults ? defaults[name] : undefined)
        }
    : never

/** The names of the variables outside of `{` and `}`, and within. `depth` has an entry for each open brace. */
type Scan<
  source extends string,
  depth extends readonly unknown[] = [],
  always extends string = never,
  maybe extends string = never,
> = source extends `${infer first}${infer rest}`
  ? first extends ':' | '*'
    ? ReadName<rest> extends readonly [infer name extends string, infer after extends string]
      ? depth extends readonly []
        ? Scan<after, depth, always | name, maybe>
        : Scan<after, depth, always, maybe | name>
      : never
    : first extends '{'
      ? Scan<rest, [...depth, unknown], always, maybe>
      : first extends '}'
        ? Scan<rest, depth extends readonly [unknown, ...infer outer] ? outer : [], always, maybe>
        : Scan<first extends '\\' ? AfterFirst<rest> : rest, depth, always, maybe>
  : source extends ''
    ? readonly [always, maybe]
    : // A text that the compiler does not know.
      readonly [string, string]

type AfterFirst<text extends string> = text extends `${infer _first}${infer rest}` ? rest : ''

/** The name at the beginning of a text, and the text behind it. */
type ReadName<text extends string> = text extends `"${infer name}"${infer after}`
  ? readonly [name, after]
  : ReadWord<text>

type ReadWord<text extends string, word extends string = ''> = text extends `${infer first}${infer rest}`
  ? first extends NoPartOfNames
    ? readonly [word, text]
    : ReadWord<rest, `${word}${first}`>
  : readonly [word, text]

/** The characters of ASCII that are not a part of a name. */
type NoPartOfNames = Split<'/.-,;:*{}~+@|!&()[]=%?#<>^`\\ '> | '"' | "'"

type Split<text extends string, found extends string = never> = text extends `${infer first}${infer rest}`
  ? Split<rest, found | first>
  : found
