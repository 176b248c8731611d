import { asObject, asOptionalNumber, asText } from '../reading/read-soft.ts'
import { parseJsonObject } from '../store/parse-json-object.ts'

/** Which request is sampled: the next one that a route takes, or that asks for a path with a method. */
export type CpuTarget = { readonly route: string } | { readonly method: string; readonly path: string }

/** A request that is waited for. */
export interface Arming {
  readonly target: CpuTarget
  /** Milliseconds since 1970; whoever comes later is not sampled. */
  readonly until: number
}

/** Milliseconds that a request is waited for: who has forgotten about it is not to be surprised. */
const patience = 5 * 60_000

/** Begins to wait for a request. */
export function createArming(target: CpuTarget, now: number): Arming {
  return { target, until: now + patience }
}

/** Reads what a process has written for others; `undefined` when it is nothing of the kind. */
export function parseArming(text: string): Arming | undefined {
  const { target, until } = parseJsonObject(text) ?? {}
  const [method, path, route] = [asObject(target).method, asObject(target).path, asObject(target).route].map(asText)
  const limit = asOptionalNumber(until)
  if (limit === undefined) return undefined
  if (route) return { target: { route }, until: limit }
  return method && path ? { target: { method, path }, until: limit } : undefined
}

/** Names a request that is waited for: `the next request of the route "booth"`. */
export function describeTarget(target: CpuTarget): string {
  return 'route' in target
    ? `the next request of the route "${target.route}"`
    : `the next ${target.method} ${target.path}`
}
