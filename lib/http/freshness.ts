import type { Headers } from './headers.ts'
import { parseHttpDate } from './http-date.ts'

/** How long a shared cache may send a response, in seconds from now. */
interface Freshness {
  /** Without asking for a new one. */
  readonly fresh: number
  /** In addition, while it gets a new one (`stale-while-revalidate`). */
  readonly stale: number
}

/**
 * Reads how long a shared cache may send a response (RFC 9111, sections 4.2 and 5.2.2). `undefined`
 * if it may not store it: only a response that is declared public, with a lifetime, is stored.
 */
export function readSharedFreshness(headers: Headers, now: number = Date.now()): Freshness | undefined {
  const control = parseDirectives(headers.get('cache-control') ?? '')
  const isRefused = ['private', 'no-store', 'no-cache'].some(name => control.has(name))
  if (isRefused || !(control.has('public') || control.has('s-maxage'))) return undefined
  const lifetime = control.get('s-maxage') ?? control.get('max-age') ?? readExpiry(headers, now)
  const fresh = lifetime - (Number(headers.get('age')) || 0)
  const mayBeStale = !control.has('must-revalidate') && !control.has('proxy-revalidate')
  return fresh > 0 ? { fresh, stale: mayBeStale ? (control.get('stale-while-revalidate') ?? 0) : 0 } : undefined
}

function readExpiry(headers: Headers, now: number): number {
  return (parseHttpDate(headers.get('expires') ?? '') - now) / 1000
}

/**
 * The directives of a Cache-Control in lower case, with their seconds; 0 without a valid number.
 * Of a repeated one, the least number counts. A name in quotes is a part of a value.
 */
export function parseDirectives(text: string): ReadonlyMap<string, number> {
  const directives = new Map<string, number>()
  for (const [, name = '', quoted, plain] of text.matchAll(directive)) {
    const value = (quoted ?? plain ?? '').trim()
    const seconds = /^\d{1,10}$/.test(value) ? Number(value) : 0
    const key = name.toLowerCase()
    directives.set(key, Math.min(seconds, directives.get(key) ?? seconds))
  }
  return directives
}

const directive = /([^\s=,"]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^,"]*)))?/g
