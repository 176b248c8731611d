import { isRetrieval } from '../http/conditions.ts'
import type { Request } from '../http/request.ts'
import type { PatternForm } from './pattern.ts'
import type { Route, RouteParameters, RouteScheme } from './route.ts'
import type { RouteCollection } from './route-collection.ts'

/** The result of matching a request. */
export type RouteMatch =
  | { readonly outcome: 'match'; readonly route: Route; readonly parameters: RouteParameters }
  | {
      readonly outcome: 'redirect'
      /** The route at the location. */
      readonly route: Route
      readonly parameters: RouteParameters
      /** An absolute URL on the host of the request. */
      readonly location: string
    }
  | {
      readonly outcome: 'method-not-allowed'
      /** The methods of the routes with this path, in order. */
      readonly allow: readonly string[]
    }
  | {
      readonly outcome: 'not-found'
      /** The path as it was sent, but without slashes at its end unless it consists of slashes. */
      readonly path: string
    }

/**
 * Finds the route of a request among the routes that a collection has now. The first route that matches the request as
 * it is wins. Otherwise GET and HEAD may be redirected to the other scheme, or to the path with its slash corrected
 * (301, as in Symfony). A method is refused only after that.
 */
export class RouteMatcher {
  readonly #index: RouteIndex

  constructor(routes: RouteCollection) {
    this.#index = new RouteIndex(routes)
  }

  /** Throws only the error of a route's condition. Without a route, the caller decides about the response. */
  match(request: Request): RouteMatch {
    const found = this.#lookUp(request, request.path, request.scheme)
    if (found.outcome === 'match') return found
    const redirect = this.#findRedirect(request, found)
    if (redirect !== undefined) return redirect
    if (found.allow.length > 0) return { outcome: 'method-not-allowed', allow: [...new Set(found.allow)] }
    return { outcome: 'not-found', path: trimSlashes(request.rawPath) || request.rawPath }
  }

  #findRedirect(request: Request, asSent: Missed): RouteMatch | undefined {
    if (!isRetrieval(request.method)) return undefined
    // Without a host there is no absolute URL, and a path alone (`//evil/`) could lead to another host.
    if (request.hostname === '') return undefined
    const otherScheme = request.scheme === 'http' ? 'https' : 'http'
    for (const path of [request.path, ...correctSlash(request.path)]) {
      const sameScheme = path === request.path ? asSent : this.#lookUp(request, path, request.scheme)
      if (sameScheme.outcome === 'match') return redirect(sameScheme, request, path, request.origin)
      const other = sameScheme.wantsOtherScheme ? this.#lookUp(request, path, otherScheme) : sameScheme
      // The port belongs to one scheme, so the other scheme gets its default port.
      if (other.outcome === 'match') return redirect(other, request, path, `${otherScheme}://${request.hostname}`)
    }
    return undefined
  }

  #lookUp(request: Request, path: string, scheme: RouteScheme): Matched | Missed {
    let allow: readonly string[] = noMethods
    let wantsOtherScheme = false
    for (const route of this.#index.candidates(path)) {
      const evaluation = route.evaluate(request, path, scheme)
      if (evaluation.outcome === 'match') return { outcome: 'match', route, parameters: evaluation.parameters }
      if (evaluation.outcome === 'scheme') wantsOtherScheme = true
      if (evaluation.outcome === 'method') allow = [...allow, ...route.methods]
    }
    return { outcome: 'missed', allow, wantsOtherScheme }
  }
}

const noMethods: readonly string[] = []

type Matched = Extract<RouteMatch, { outcome: 'match' }>

interface Missed {
  readonly outcome: 'missed'
  readonly allow: readonly string[]
  readonly wantsOtherScheme: boolean
}

function redirect({ route, parameters }: Matched, request: Request, path: string, origin: string): RouteMatch {
  const rawPath = path === request.path ? request.rawPath : applySlash(request.rawPath, path)
  const query = request.queryString === '' ? '' : `?${request.queryString}`
  return { outcome: 'redirect', route, parameters, location: `${origin}${request.basePath}${rawPath}${query}` }
}

/**
 * Finds the candidates of a path: the few routes that may match it, in their order. To try them gives the same result
 * as to try every route.
 *
 * A map contains the candidates of each fixed path. All other routes are in a tree of their leading fixed segments.
 * Each node also has the routes of the nodes above, so one node has the complete list. A search ends where the tree
 * ends: a path of a thousand segments costs no more than the longest prefix.
 */
class RouteIndex {
  readonly #fixed = new Map<string, readonly Route[]>()
  readonly #longestFixed: number
  readonly #root: Node = createNode()

  constructor(routes: Iterable<Route>) {
    const positions = new Map([...routes].map((route, position) => [route, position]))
    const inOrder = (some: Iterable<Route>): Route[] =>
      [...new Set(some)].sort((one, other) => (positions.get(one) ?? 0) - (positions.get(other) ?? 0))

    const fixed = new Map<string, Route[]>()
    for (const route of positions.keys()) {
      for (const { leadingText } of route.path.forms.filter(form => form.isFixed)) {
        fixed.set(leadingText, [...(fixed.get(leadingText) ?? []), route])
      }
      if (route.path.forms.some(form => !form.isFixed)) this.#addToTree(route)
    }
    this.#longestFixed = Math.max(0, ...[...fixed.keys()].map(path => path.length))
    inherit(this.#root, inOrder)
    for (const [path, own] of fixed) {
      const patterns = this.#findNode(path).candidates.filter(route => route.path.match(path)?.names)
      this.#fixed.set(path, inOrder([...own, ...patterns]))
    }
  }

  /** The routes that may match the path, in order. */
  candidates(path: string): readonly Route[] {
    // A path that is longer than all fixed paths need not be hashed.
    const fixed = path.length > this.#longestFixed ? undefined : this.#fixed.get(path)
    return fixed ?? this.#findNode(path).candidates
  }

  #addToTree(route: Route): void {
    let node = this.#root
    for (const segment of leadingSegments(route.path.forms)) {
      const child = node.children.get(segment) ?? createNode()
      node.children.set(segment, child)
      node = child
    }
    node.candidates.push(route)
  }

  #findNode(path: string): Node {
    let node = this.#root
    let start = 1
    while (node.children.size > 0 && start > 0) {
      const slash = path.indexOf('/', start)
      const child = node.children.get(slash === -1 ? path.slice(start) : path.slice(start, slash))
      if (child === undefined) break
      node = child
      start = slash + 1
    }
    return node
  }
}

interface Node {
  /** At first only the node's own routes. `inherit` adds those of the nodes above. */
  candidates: Route[]
  readonly children: Map<string, Node>
}

function createNode(): Node {
  return { candidates: [], children: new Map() }
}

/** Adds the candidates of each node to the nodes below it. */
function inherit(node: Node, inOrder: (some: Iterable<Route>) => Route[]): void {
  for (const child of node.children.values()) {
    child.candidates = inOrder([...node.candidates, ...child.candidates])
    inherit(child, inOrder)
  }
}

/** The whole segments with which every form begins. */
function leadingSegments(forms: readonly PatternForm[]): string[] {
  const [first = [], ...others] = forms.map(form => form.leadingText.split('/').slice(1, form.isFixed ? undefined : -1))
  const differs = first.findIndex((segment, depth) => others.some(other => other[depth] !== segment))
  return differs === -1 ? first : first.slice(0, differs)
}

/** The path without the slashes at its end. A path of slashes becomes empty. */
export function trimSlashes(path: string): string {
  let end = path.length
  // The time of a regexp would grow with the square of the number of slashes.
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/**
 * The paths that the client may have meant: with a slash added, or with the slashes at the end removed or reduced to
 * one.
 */
export function correctSlash(path: string): readonly string[] {
  const trimmed = trimSlashes(path)
  if (trimmed === '') return []
  if (path.length === trimmed.length) return [`${path}/`]
  return path.length === trimmed.length + 1 ? [trimmed] : [trimmed, `${trimmed}/`]
}

/** Corrects the slash of a path as it was sent, where `%2F` is also a slash, like that of the decoded path. */
export function applySlash(rawPath: string, corrected: string): string {
  let end = rawPath.length
  for (;;) {
    if (rawPath[end - 1] === '/') end--
    else if (/^%2f$/i.test(rawPath.slice(end - 3, end))) end -= 3
    else break
  }
  return rawPath.slice(0, end) + (corrected.endsWith('/') ? '/' : '')
}
