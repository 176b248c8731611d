import type { Request } from '../http/request.ts'
import { knownMethods } from '../http/request-line.ts'
import { describeValue } from '../text/describe-value.ts'
import { findShapeMistakes, type ShapeOf } from '../text/shape.ts'
import { ROUTE_DEFINITION_INVALID } from './errors.ts'
import type { RouteDefaults, RouteParameters } from './path-parameters.ts'
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
  readonly defaults?: defaults
  /** A host without a port, with or without variables: `:tenant.example.com`. Any host by default. */
  readonly host?: host
  /** Any scheme by default. */
  readonly schemes?: readonly RouteScheme[]
  /** Checked after the path and the host. If it returns false, the route does not exist for this request. */
  readonly condition?: (request: Request) => boolean
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
  condition: 'function',
  priority: 'number',
}

/** Patterns for whole values of variables, by name. */
export type RouteRequirements = Readonly<Record<string, RegExp | string>>

/** Whether a route matches a request, or the first reason against it. */
export type Evaluation =
  | { readonly outcome: 'match'; readonly parameters: RouteParameters }
  | { readonly outcome: 'requirement'; readonly requirement: Requirement }
  | { readonly outcome: 'path' | 'host' | 'condition' | 'scheme' | 'method' }

/** A checked and compiled route. */
export class Route {
  readonly name: string
  readonly aliases: readonly string[]
  readonly path: Pattern
  readonly controller: unknown
  /** Any method when empty. */
  readonly methods: readonly RouteMethod[]
  readonly defaults: RouteParameters
  readonly host: Pattern | undefined
  /** Any scheme when empty. */
  readonly schemes: readonly RouteScheme[]
  readonly condition: ((request: Request) => boolean) | undefined
  readonly priority: number
  readonly #defaultNames: readonly string[]
  readonly #plainMatch: Evaluation
  readonly #answeredMethods: ReadonlySet<string> | undefined

  /** `shared` are requirements of groups; the route need not have their variables. @throws ROUTE_DEFINITION_INVALID */
  constructor(definition: RouteDefinition, shared: RouteRequirements = {}) {
    const { aliases = [], name, path, host, methods, schemes } = definition
    const requirements = { ...shared, ...definition.requirements }
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
    if (this.condition !== undefined && !this.condition(request)) return mismatches.condition
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
