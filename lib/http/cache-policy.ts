import type { ShapeOf } from '../text/mistakes.ts'
import { isHeaderName } from './headers.ts'

/** How long which caches may keep the responses of a route. What a controller sets itself comes first. */
export interface CachePolicy {
  /** Whether caches that many clients share may keep them. With `sMaxAge` they may. */
  readonly public?: boolean | undefined
  /** Seconds for which a client uses a response without asking again. */
  readonly maxAge?: number | undefined
  /** Seconds for shared caches, instead of `maxAge`. */
  readonly sMaxAge?: number | undefined
  /** The request headers that the responses depend on, such as `Accept-Language`. */
  readonly vary?: readonly string[] | undefined
  /** Seconds after its lifetime in which a cache may still send a response, while it gets a new one. */
  readonly staleWhileRevalidate?: number | undefined
  /** Whether responses get an etag of their body, so that a client that has it gets a 304. */
  readonly etag?: boolean | undefined
}

/** The shape of a policy, which is checked before {@link findCacheMistakes}. */
export const cacheShape: ShapeOf<CachePolicy> = {
  public: 'boolean',
  maxAge: 'number',
  sMaxAge: 'number',
  vary: ['string'],
  staleWhileRevalidate: 'number',
  etag: 'boolean',
}

/** Whether a policy lets shared caches keep responses. */
export function isShared(policy: CachePolicy): boolean {
  return policy.public ?? policy.sMaxAge !== undefined
}

/** Lists the mistakes of a policy that has the right shape. Each one is a sentence without a full stop. */
export function findCacheMistakes(policy: CachePolicy): string[] {
  const { etag, maxAge, sMaxAge, staleWhileRevalidate, vary } = policy
  const mistakes: string[] = []
  for (const [word, seconds] of Object.entries({ maxAge, sMaxAge, staleWhileRevalidate })) {
    if (seconds === undefined || (Number.isInteger(seconds) && seconds >= 0 && seconds <= longest)) continue
    mistakes.push(`_cache.${word} is ${seconds}: use whole seconds, from 0 to ${longest} (a year)`)
  }
  for (const name of vary ?? []) {
    if (name !== '*' && isHeaderName(name)) continue
    mistakes.push(`_cache.vary has "${name}": use names of request headers, such as "Accept-Language"`)
  }
  if (sMaxAge !== undefined && policy.public === false) {
    mistakes.push('_cache.sMaxAge is for shared caches, and public is false: use maxAge, or leave public out')
  }
  const hasLifetime = maxAge !== undefined || sMaxAge !== undefined
  if (staleWhileRevalidate !== undefined && !hasLifetime) {
    mistakes.push('_cache.staleWhileRevalidate begins after a lifetime: add maxAge or sMaxAge')
  }
  if (!hasLifetime && etag !== true && staleWhileRevalidate === undefined) {
    mistakes.push(
      '_cache has no effect on a cache without maxAge, sMaxAge or etag; false removes the policy of a group',
    )
  }
  return mistakes
}

/** A year, in seconds: RFC 9111 knows no longer use. */
const longest = 365 * 24 * 60 * 60

/**
 * The Cache-Control of a policy; `undefined` if it leaves the default, by which only the client
 * keeps a response and asks each time.
 */
export function toCacheControl(policy: CachePolicy): string | undefined {
  const { maxAge, sMaxAge, staleWhileRevalidate } = policy
  const hasLifetime = maxAge !== undefined || sMaxAge !== undefined
  if (!hasLifetime) return isShared(policy) ? 'public, no-cache' : undefined
  const lifetimes = Object.entries({
    'max-age': maxAge,
    's-maxage': sMaxAge,
    'stale-while-revalidate': staleWhileRevalidate,
  }).flatMap(([directive, seconds]) => (seconds === undefined ? [] : [`${directive}=${seconds}`]))
  return [isShared(policy) ? 'public' : 'private', ...lifetimes].join(', ')
}

/** Describes the policy of a route: `public, max-age=60; Vary: Accept-Language; etag`. Empty without a policy. */
export function describeCachePolicy({ _cache: policy }: { readonly _cache?: unknown }): string {
  if (!policy) return ''
  // The start has checked the defaults of all routes.
  const { etag, vary = [] } = policy as CachePolicy
  const parts = [toCacheControl(policy), vary.length > 0 && `Vary: ${vary.join(', ')}`, etag === true && 'etag']
  return parts.filter(Boolean).join('; ')
}
