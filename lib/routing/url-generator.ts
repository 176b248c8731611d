import { ARGUMENT_INVALID, checkObject, checkOptions, checkString } from '../errors/arguments.ts'
import type { Request } from '../http/request.ts'
import { parseHost } from '../http/request-target.ts'
import { describeValue, isKeyed } from '../text/describe-value.ts'
import { explainSplitName, type ShapeOf, suggestNames } from '../text/mistakes.ts'
import { ROUTE_ORIGIN_UNKNOWN, ROUTE_PARAMETER_INVALID, ROUTE_PARAMETER_MISSING, ROUTE_UNKNOWN } from './errors.ts'
import type { Pattern, PatternForm, PatternMatch, Requirement } from './pattern.ts'
import type { Route } from './route.ts'
import type { RouteCollection } from './route-collection.ts'
import type { RouteName, UrlArguments, UrlParameters } from './route-names.ts'

/** The options of a URL. */
export interface UrlOptions {
  /**
   * A URL with scheme and host. By default it begins with the path, unless the route has another
   * scheme or its own host.
   */
  readonly absolute?: boolean
  /** The request whose page will contain the URL. By default the URL begins as `APP_URL`. */
  readonly request?: UrlContext
}

/** The page of a URL. A variable `_locale` of a route has the value of the page by default. */
type UrlContext = Pick<Request, 'scheme' | 'hostname' | 'origin'> & Partial<Pick<Request, 'basePath' | 'attributes'>>

interface UrlGeneratorOptions {
  /**
   * The address of the application, for URLs without a request: `https://example.org/shop`, without a slash at its end.
   */
  readonly address?: string | undefined
  /** Called with the first use of each alias. */
  readonly onAlias?: ((alias: string, route: Route) => void) | undefined
}

const noOptions: UrlOptions = Object.freeze({})
const optionShape: ShapeOf<UrlOptions> = { absolute: 'boolean', request: 'object' }

/**
 * Generates the URLs of routes. A generated URL matches the route's path with the same parameters
 * again; if that is impossible, an error is thrown. Optional parts that only repeat defaults are
 * left out. Parameters that are no variables of the route go into the query.
 */
export class UrlGenerator {
  readonly #routes: RouteCollection
  /** A cache of the paths of routes without variables, which most links have. */
  readonly #fixedPaths = new Map<Route, string>()
  readonly #site: UrlContext | undefined
  readonly #onAlias: UrlGeneratorOptions['onAlias']
  readonly #usedAliases = new Set<string>()

  constructor(routes: RouteCollection, { address, onAlias }: UrlGeneratorOptions = {}) {
    this.#routes = routes
    this.#site = address === undefined ? undefined : toContext(new URL(address))
    this.#onAlias = onAlias
  }

  /**
   * The URL of a route with the values of its variables; other parameters go into the query. For a page, pass its
   * request. @throws ROUTE_UNKNOWN ROUTE_PARAMETER_MISSING ROUTE_PARAMETER_INVALID ROUTE_ORIGIN_UNKNOWN (all 500)
   */
  generate<name extends RouteName>(name: name, ...rest: UrlArguments<name, [options?: UrlOptions]>): string
  generate(name: string, parameters: UrlParameters = {}, options: UrlOptions = noOptions): string {
    const route = this.#routes.find(name) ?? this.#findByAlias(name)
    if (parameters?.constructor !== Object && !isKeyed(parameters)) {
      const mistake = `the parameters are an object such as { id: 7 }, not ${describeValue(parameters)}`
      throw new ARGUMENT_INVALID([`The URL of the route "${name}"`, mistake])
    }
    // Those of a template and of a redirect have the request.
    if (options?.request === undefined && options?.absolute === undefined && options !== noOptions) {
      checkObject(`The URL of the route "${name}"`, options, optionShape)
      checkOptions(`The URL of the route "${name}"`, options, optionShape)
    }
    const page = options.request ?? this.#site
    const fixedPath = this.#fixedPaths.get(route)
    if (fixedPath !== undefined) {
      return `${startOf(route, undefined, options, page)}${fixedPath}${toEnding(route, parameters)}`
    }

    const values = readValues(route, parameters, page)
    refuseMissing(name, route, values, parameters)
    const path = encodePath(fill(route, route.path, values, readPath))
    const host = route.host && fill(route, route.host, values, readHost)
    if (variablesOf(route).length === 0 && host === undefined) this.#fixedPaths.set(route, path)
    return `${startOf(route, host, options, page)}${path}${toEnding(route, parameters)}`
  }

  /**
   * Checks the parameters of a URL before their values are known: `undefined` is a value that is
   * known later. The language of a page may give `_locale`.
   *
   * @throws ROUTE_UNKNOWN ROUTE_PARAMETER_MISSING ROUTE_PARAMETER_INVALID
   */
  check(name: string, parameters: UrlParameters): void {
    const route = this.#routes.find(name) ?? this.#routes.findByAlias(name)
    if (route === undefined) throw this.#explainUnknown(name)
    const { all, needed } = readValues(route, parameters, undefined)
    const later = variablesOf(route).filter(
      each =>
        !all.has(each) && (each === '_locale' || (Object.hasOwn(parameters, each) && parameters[each] === undefined)),
    )
    const known = new Map([...all, ...later.map(each => [each, ''] as const)])
    refuseMissing(name, route, { all: known, needed }, parameters)
    for (const pattern of [route.path, route.host]) {
      const failed = pattern?.findFailed({ names: needed, values: needed.map(each => all.get(each) ?? '') })
      if (failed) throw new ROUTE_PARAMETER_INVALID([name, describeFailed(failed, all)])
    }
    toEnding(route, parameters)
  }

  #explainUnknown(name: string): Error {
    checkString('The URL of a route', 'the name of the route', name)
    if (!name.startsWith('/')) return new ROUTE_UNKNOWN([name, suggestNames(name, this.#routes.names)])
    const [route] = [...this.#routes].filter(({ path }) => path.source === name)
    return new ROUTE_UNKNOWN([name, `: a path is no name${route === undefined ? '' : `; the name is "${route.name}"`}`])
  }

  #findByAlias(alias: string): Route {
    const route = this.#routes.findByAlias(alias)
    if (route === undefined) throw this.#explainUnknown(alias)
    if (!this.#usedAliases.has(alias)) this.#onAlias?.(alias, route)
    this.#usedAliases.add(alias)
    return route
  }
}

function toContext({ hostname, origin, pathname, protocol }: URL): UrlContext {
  return {
    scheme: protocol === 'https:' ? 'https' : 'http',
    hostname,
    origin,
    basePath: pathname === '/' ? '' : pathname,
  }
}

interface Values {
  /** The value of each variable: the parameter, else the default. */
  readonly all: ReadonlyMap<string, string>
  /** The variables whose value is not the default, so that they cannot be left out. */
  readonly needed: readonly string[]
}

function readValues(route: Route, parameters: UrlParameters, page: UrlContext | undefined): Values {
  const all = new Map<string, string>()
  const needed: string[] = []
  for (const name of variablesOf(route)) {
    const preset = toText(route.defaults[name])
    const given = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    const value =
      readText(route, name, given ?? (name === '_locale' ? page?.attributes?.get('_locale') : undefined)) ?? preset
    if (value !== undefined) all.set(name, value)
    if (value !== preset) needed.push(name)
  }
  return { all, needed }
}

function variablesOf(route: Route): readonly string[] {
  return [...route.path.names, ...(route.host?.names ?? [])]
}

function readText(route: Route, name: string, value: unknown): string | undefined {
  const text = toText(value)
  if (text === undefined && value !== undefined && value !== null) {
    throw new ROUTE_PARAMETER_INVALID([
      route.name,
      `"${name}" is neither a text nor a number, but ${describeValue(value)}`,
    ])
  }
  return text
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
    ? String(value)
    : undefined
}

/** The forms with all needed variables, the shortest first. */
function usableForms(pattern: Pattern, { needed }: Values): PatternForm[] {
  const own = needed.filter(name => pattern.names.includes(name))
  return pattern.forms.toReversed().filter(form => own.every(name => form.names.includes(name)))
}

/** @throws ROUTE_PARAMETER_MISSING */
function refuseMissing(name: string, route: Route, values: Values, parameters: UrlParameters): void {
  const { host, path } = route
  const missing = [path, host].flatMap(pattern => (pattern ? findMissing(pattern, values) : []))
  if (missing.length === 0) return
  const advice = ['locale', 'lang', 'language'].find(other => missing.includes(other))
  const carried = advice && `: only a variable "_locale" is carried on from the page, so name it "_locale", or pass it`
  const [first = ''] = missing
  const others = Object.keys(parameters).filter(each => !variablesOf(route).includes(each))
  const isGiven = missing.length === 1 && Object.hasOwn(parameters, first)
  const unknown = others.length === 0 ? '' : `; its path has no "${others.slice(0, 3).join('", "')}"`
  const [split = ''] = others.flatMap(each => explainSplitName([path.source, host?.source], each) || [])
  const state = isGiven ? `, which is ${parameters[first]}` : unknown + split
  throw new ROUTE_PARAMETER_MISSING([name, missing.map(other => `"${other}"`).join(', ') + (carried ?? state)])
}

function findMissing(pattern: Pattern, values: Values): string[] {
  const shortest = usableForms(pattern, values).slice(0, 1)
  return shortest.flatMap(form => form.names.filter(name => !values.all.has(name)))
}

/** Fills a pattern so that a request gets the same values from it. `read` turns the text into what a request sees. */
function fill(route: Route, pattern: Pattern, values: Values, read: (text: string) => string): string {
  let reason = ''
  for (const form of usableForms(pattern, values)) {
    if (!form.names.every(name => values.all.has(name))) continue
    const filled = form.fill(values.all)
    const failed = pattern.findFailed({
      names: form.names,
      values: form.names.map(name => values.all.get(name) ?? ''),
    })
    if (failed === undefined && isReadAs(values, pattern.match(read(filled)), pattern, route)) return filled
    reason ||= failed ? describeFailed(failed, values.all) : `"${filled}" would be read as something else`
  }
  throw new ROUTE_PARAMETER_INVALID([route.name, reason])
}

function describeFailed({ name, text }: Requirement, values: Values['all']): string {
  return `"${values.get(name)}" is no value for "${name}" (${text})`
}

function isReadAs(values: Values, found: PatternMatch | undefined, pattern: Pattern, route: Route): boolean {
  if (found?.names === undefined) return false
  const { names, values: read } = found
  const seen = (name: string) => read[names.indexOf(name)] ?? toText(route.defaults[name])
  return pattern.names.every(name => seen(name) === values.all.get(name))
}

/** The path as a request has it. Empty for text that cannot be sent, and for dot segments, which clients resolve. */
function readPath(path: string): string {
  return path.isWellFormed() && !/\0|\/\.\.?(?:\/|$)/.test(path) ? path : ''
}

function readHost(host: string): string {
  return parseHost(host)?.name ?? ''
}

function encodePath(path: string): string {
  const encoded = encodeURI(path).replace(/[?#]/g, encodeURIComponent)
  // With two slashes at the beginning, it would be a URL on another host.
  return encoded.startsWith('//') ? `/%2F${encoded.slice(2)}` : encoded
}

/** The part before the path: scheme and host if those of the page are wrong, and the base path of a proxy. */
function startOf(route: Route, host: string | undefined, options: UrlOptions, page: UrlContext | undefined): string {
  return `${originOf(route, host, options, page)}${page?.basePath ?? ''}`
}

function originOf(
  route: Route,
  host: string | undefined,
  { absolute = false }: UrlOptions,
  page: UrlContext | undefined,
): string {
  // Most URLs: a route of any scheme and host never differs from its page.
  if (!absolute && host === undefined && route.schemes.length === 0) return ''
  const scheme = page && !route.schemes.includes(page.scheme) ? (route.schemes[0] ?? page.scheme) : page?.scheme
  if (!absolute && host === undefined && scheme === page?.scheme) return ''
  if (page === undefined || page.origin === '') throw new ROUTE_ORIGIN_UNKNOWN([route.name])
  if (typeof page.origin !== 'string') {
    const mistake = `"request" is the request of a page, such as event.request, not ${describeValue(page)}`
    throw new ARGUMENT_INVALID([`The URL of the route "${route.name}"`, mistake])
  }
  // The port belongs to one scheme, so the other scheme gets its default port.
  const port = scheme === page.scheme ? page.origin.slice(`${scheme}://${page.hostname}`.length) : ''
  return `${scheme}://${host ?? page.hostname}${port}`
}

/** The part behind the path: the query and the fragment. */
function toEnding(route: Route, parameters: UrlParameters): string {
  if (Object.keys(parameters).length === 0) return ''
  const query = new URLSearchParams()
  let fragment = ''
  const variables = variablesOf(route)
  for (const [name, given] of Object.entries(parameters)) {
    if (variables.includes(name)) continue
    if (name === '_fragment') {
      fragment = toFragment(readText(route, name, given))
      continue
    }
    if (name in optionShape && typeof given === optionShape[name as keyof UrlOptions] && given !== null) {
      const right = `{{url}} in a template, and elsewhere generate(name, parameters, { ${name} })`
      throw new ROUTE_PARAMETER_INVALID([route.name, `"${name}" is an option, not a parameter: write ${right}`])
    }
    for (const value of Array.isArray(given) ? given : [given]) {
      const text = readText(route, name, value)
      if (text !== undefined && text !== toText(route.defaults[name])) query.append(name, text)
    }
  }
  return query.size === 0 ? fragment : `?${query}${fragment}`
}

/** The characters that `encodeURI` keeps are valid in a fragment (RFC 3986, section 3.5), except for `#`. */
function toFragment(text = ''): string {
  return text === '' ? '' : `#${encodeURI(text.toWellFormed()).replaceAll('#', '%23')}`
}
