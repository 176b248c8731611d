import type { Request } from '../http/request.ts'
import type { PatternForm, Segments } from './pattern.ts'
import type { Evaluation, Route } from './route.ts'
import { correctSlash } from './route-matcher.ts'

/** A route that comes near to a request. */
export interface NearRoute extends RouteExplanation {
  /** Where the route stands in the order in which routes are tried, from 1. */
  readonly position: number
}

/** From near to far: the later a route declines a request, the nearer it was, as `Route.evaluate` goes backwards. */
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

/** Only this much of a path is compared with those of the routes. */
const lengthLimit = 1000
const segmentLimit = 16
const outcomeStep = 10 * lengthLimit
const pathRank = outcomesByNearness.indexOf('path') * outcomeStep

/**
 * Finds the routes that come nearest to a request: those that match but for one thing first, then those whose paths look
 * alike. The routes are those of the moment when this is made.
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

  /** At most so many, the nearest first; ties stay in the order in which they are tried. Never throws. */
  find(request: Request, limit: number): NearRoute[] {
    const paths = [request.path, ...correctSlash(request.path)]
    const segments = split(request.path.slice(0, lengthLimit))
    const nearest: Ranked[] = []
    for (const candidate of this.#candidates) {
      const { forms, route } = candidate
      const worst = nearest.length < limit ? Number.POSITIVE_INFINITY : Number(nearest.at(-1)?.rank)
      // Nearly all of a thousand routes begin with something else: no pattern is tried in vain.
      const mayMatch = forms.some(({ leadingText }) => paths.some(path => path.startsWith(leadingText)))
      const judgement = mayMatch ? judgeRoute(route, request, paths) : pathMismatch
      const rank =
        judgement.outcome === 'path'
          ? pathRank + distanceTo(segments, forms, Math.min(outcomeStep, worst - pathRank))
          : outcomesByNearness.indexOf(judgement.outcome) * outcomeStep
      if (rank < worst) insert({ candidate, judgement, rank }, nearest, limit)
    }
    return nearest.map(({ candidate: { position, route }, judgement }) => ({
      position,
      ...explainRoute(route, request, judgement),
    }))
  }
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
 * How many characters differ, `atMost` when there are more. Compared from the front as well as from the back: a segment
 * may be missing at either end.
 */
function distanceTo(path: readonly string[], forms: readonly Form[], atMost: number): number {
  let least = atMost
  for (const { segments } of forms) {
    const surplus = segments.length - path.length
    least = alignedDistance(path, segments, 0, least)
    if (surplus !== 0) least = alignedDistance(path, segments, surplus, least)
  }
  return least
}

/** The first segment of the path stands over segment `offset` of the form. */
function alignedDistance(path: readonly string[], form: Segments, offset: number, atMost: number): number {
  let distance = 0
  const end = Math.max(path.length, form.length - offset)
  for (let index = Math.min(0, -offset); index < end && distance < atMost; index++) {
    const there = index + offset
    if (there < 0 || there >= form.length) distance += 1 + Number(path[index]?.length)
    else if (index < 0 || index >= path.length) distance += 1 + (form[there]?.length ?? 1)
    else distance += segmentDistance(String(path[index]), form[there])
  }
  return Math.min(distance, atMost)
}

/** What is left between a common beginning and a common end: one slip of the finger is where people err. */
function segmentDistance(here: string, there: string | undefined): number {
  // A variable stands for anything: that is half as good as the same text.
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

/** Why a route takes a request, or the first reason why it does not. */
export interface RouteExplanation {
  readonly name: string
  readonly path: string
  /** `slash`: the route takes the path with its slash added or removed. */
  readonly reason: Judgement['outcome']
  /** The reason as a sentence without its full stop. */
  readonly text: string
}

/** Whether a route takes a request; when not, the first reason why, and whether a slash is all that is wrong. */
export type Judgement = Evaluation | { readonly outcome: 'slash' }

/**
 * Judges a route; `paths` are the request's own and those with another slash at the end. A condition that throws is one that
 * does not hold: for the request itself it has not thrown.
 */
export function judgeRoute(route: Route, request: Request, paths: readonly string[]): Judgement {
  try {
    const evaluation = route.evaluate(request)
    const isSlashWrong = evaluation.outcome === 'path' && paths.some(path => route.path.match(path)?.names)
    return isSlashWrong ? { outcome: 'slash' } : evaluation
  } catch {
    return { outcome: 'condition' }
  }
}

/** Puts a judgement into words. */
export function explainRoute(route: Route, request: Request, judgement: Judgement): RouteExplanation {
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
