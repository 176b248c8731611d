import type { Request } from '../http/request.ts'
import type { PatternForm, Segments } from './pattern.ts'
import type { Evaluation, Route } from './route.ts'
import { correctSlash } from './route-matcher.ts'

/** A route that nearly matches a request. */
export interface NearRoute extends RouteExplanation {
  /** The place in the order in which routes are tried, from 1. */
  readonly position: number
}

/** From near to far: the later a check of `Route.evaluate` fails, the nearer the route is. */
export const outcomesByNearness: readonly Judgement['outcome'][] = [
  'match',
  'method',
  'scheme',
  'slash',
  'condition',
  'host',
  'requirement',
  'path',
]

/** Characters of a path that are compared with the routes. */
const lengthLimit = 1000
const segmentLimit = 16
const outcomeStep = 10 * lengthLimit
const pathRank = outcomesByNearness.indexOf('path') * outcomeStep

/**
 * Finds the routes that are nearest to a request: first those for which only one check fails, then
 * those with a similar path. Routes that are added later are not considered.
 */
export class NearestRoutes {
  readonly #candidates: readonly Candidate[]

  constructor(routes: Iterable<Route>) {
    this.#candidates = [...routes].map((route, index) => ({
      route,
      position: index + 1,
      forms: route.path.forms.map(toForm),
    }))
  }

  get size(): number {
    return this.#candidates.length
  }

  /** The nearest routes, at most `limit`, the nearest first. Equally near ones stay in their order. Never throws. */
  find(request: Request, limit: number): NearRoute[] {
    return this.#rank(request, limit).map(ranked => explain(ranked, request))
  }

  /**
   * As `find`, without the routes that are no help: with a path for which more than half of the
   * characters of the request's path would have to change.
   */
  findSimilar(request: Request, limit: number): NearRoute[] {
    const length = split(request.path.slice(0, lengthLimit)).join('').length
    const isSimilar = ({ rank }: Ranked) => rank < pathRank || (rank - pathRank) * 2 <= length
    return this.#rank(request, limit)
      .filter(isSimilar)
      .map(ranked => explain(ranked, request))
  }

  #rank(request: Request, limit: number): Ranked[] {
    const paths = [request.path, ...correctSlash(request.path)]
    const segments = split(request.path.slice(0, lengthLimit))
    const nearest: Ranked[] = []
    for (const candidate of this.#candidates) {
      const { forms, route } = candidate
      const worst = nearest.length < limit ? Number.POSITIVE_INFINITY : (nearest.at(-1)?.rank ?? 0)
      // Most routes begin with another text: then no pattern has to be tried.
      const mayMatch = forms.some(({ leadingText }) => paths.some(path => path.startsWith(leadingText)))
      const judgement = mayMatch ? judgeRoute(route, request, paths) : pathMismatch
      const rank =
        judgement.outcome === 'path'
          ? pathRank + distanceTo(segments, forms, Math.min(outcomeStep, worst - pathRank))
          : outcomesByNearness.indexOf(judgement.outcome) * outcomeStep
      if (rank < worst) insert({ candidate, judgement, rank }, nearest, limit)
    }
    return nearest
  }
}

/** A route of another router: its method, its pattern, and its name. */
export interface ForeignRoute {
  readonly method: string
  readonly pattern: string
  readonly name: string
}

/** Finds the route of another router with the most similar path; `undefined` if none is, or if one matches. */
export function findSimilarRoute({ method, path }: Request, routes: Iterable<ForeignRoute>): string | undefined {
  const segments = split(path.slice(0, lengthLimit))
  let nearest: string | undefined
  let least = Math.floor(segments.join('').length / 2) + 1
  for (const route of routes) {
    // Whatever the router is: such a segment has a variable.
    const form = split(route.pattern).map(segment => (/[^\w.~%-]/.test(segment) ? undefined : segment))
    const fits = (text: string, index: number) => form[index] === undefined || form[index] === text
    const isFitting = form.length === segments.length && segments.every(fits)
    if (isFitting && route.method === method) return undefined
    const distance = isFitting ? 0 : distanceTo(segments, [{ segments: form }], least)
    if (distance >= least) continue
    nearest = route.name
    least = distance
  }
  return nearest
}

function explain({ candidate: { position, route }, judgement }: Ranked, request: Request): NearRoute {
  return { position, ...explainRoute(route, request, judgement) }
}

const pathMismatch: Judgement = { outcome: 'path' }

interface Candidate {
  readonly route: Route
  readonly position: number
  readonly forms: readonly Form[]
}

interface Form {
  readonly leadingText: string
  /** In lower case. */
  readonly segments: Segments
}

interface Ranked {
  readonly candidate: Candidate
  readonly judgement: Judgement
  readonly rank: number
}

function toForm({ leadingText, segments }: PatternForm): Form {
  return { leadingText, segments: segments.map(segment => segment?.toLowerCase()) }
}

function insert(ranked: Ranked, nearest: Ranked[], limit: number): void {
  const before = nearest.findIndex(other => other.rank > ranked.rank)
  nearest.splice(before === -1 ? nearest.length : before, 0, ranked)
  if (nearest.length > limit) nearest.pop()
}

function split(path: string): string[] {
  return path.toLowerCase().split('/', segmentLimit).slice(1)
}

/**
 * The number of different characters, at most `atMost`. Segments are compared from the front and
 * from the back, because one may be missing at either end.
 */
function distanceTo(path: readonly string[], forms: readonly Pick<Form, 'segments'>[], atMost: number): number {
  let least = atMost
  for (const { segments } of forms) {
    const surplus = segments.length - path.length
    least = alignedDistance(path, segments, 0, least)
    if (surplus !== 0) least = alignedDistance(path, segments, surplus, least)
  }
  return least
}

/** Compares with the first segment of the path at segment `offset` of the form. */
function alignedDistance(path: readonly string[], form: Segments, offset: number, atMost: number): number {
  let distance = 0
  const end = Math.max(path.length, form.length - offset)
  for (let index = Math.min(0, -offset); index < end && distance < atMost; index++) {
    const there = index + offset
    // A part of the path that the route does not have is as far as a variable.
    if (there < 0 || there >= form.length) distance += 1 + Math.ceil((path[index]?.length ?? 0) / 2)
    else if (index < 0 || index >= path.length) distance += 1 + (form[there]?.length ?? 1)
    else distance += segmentDistance(path[index] ?? '', form[there])
  }
  return Math.min(distance, atMost)
}

/** The characters between a common beginning and a common end, which is enough for one typing error. */
function segmentDistance(here: string, there: string | undefined): number {
  // A variable matches any text: half as near as an equal text.
  if (there === undefined) return Math.ceil(here.length / 2)
  if (here === there) return 0
  const longest = Math.max(here.length, there.length)
  const shortest = Math.min(here.length, there.length)
  let start = 0
  while (start < shortest && here.charCodeAt(start) === there.charCodeAt(start)) start++
  let end = 0
  while (
    end < shortest - start &&
    here.charCodeAt(here.length - 1 - end) === there.charCodeAt(there.length - 1 - end)
  ) {
    end++
  }
  return longest - start - end
}

/** Why a route matches a request, or the first reason why it does not. */
interface RouteExplanation {
  readonly name: string
  readonly path: string
  /** `slash`: the route matches the path with its slash added or removed. */
  readonly reason: Judgement['outcome']
  /** The reason as a sentence without a full stop. */
  readonly text: string
}

/** The evaluation of a route, with `slash` if only a slash is wrong. */
type Judgement = Evaluation | { readonly outcome: 'slash' }

/**
 * Judges a route. `paths` are that of the request, and those with another slash at the end. A
 * condition that throws counts as false.
 */
function judgeRoute(route: Route, request: Request, paths: readonly string[]): Judgement {
  try {
    const evaluation = route.evaluate(request)
    const isSlashWrong = evaluation.outcome === 'path' && paths.some(path => route.path.match(path)?.names)
    return isSlashWrong ? { outcome: 'slash' } : evaluation
  } catch {
    return { outcome: 'condition' }
  }
}

/** Describes a judgement. */
function explainRoute(route: Route, request: Request, judgement: Judgement): RouteExplanation {
  const text = toText(judgement, route, request)
  return { name: route.name, path: route.path.source, reason: judgement.outcome, text }
}

function toText(because: Judgement, route: Route, request: Request): string {
  switch (because.outcome) {
    case 'match':
      return 'Route matches!'
    case 'path':
      return 'Path does not match'
    case 'slash':
      return 'Path almost matches, but for the slash at its end'
    case 'requirement':
      return `Requirement for "${because.requirement.name}" does not match (${because.requirement.text})`
    case 'host':
      return `Host "${request.hostname}" does not match the requirement ("${route.host?.source}")`
    case 'condition':
      return `Condition "${route.condition}" does not evaluate to "true"`
    case 'scheme':
      return `Scheme "${request.scheme}" does not match any of the required schemes (${route.schemes.join(', ')})`
    case 'method': {
      const required = route.methods.join(', ')
      return `Path almost matches, but Method "${request.method}" does not match any of the required methods (${required})`
    }
  }
}
