import { type CorsPolicy, corsShape, findCorsMistakes } from '../../lib/http/cors.ts'
import { describeNoOrigin, isOrigin } from '../../lib/http/cross-origin.ts'
import { Headers } from '../../lib/http/headers.ts'
import type { ShapeOf } from '../../lib/text/shape.ts'

/** The options of {@link createFrameworkBundle} against misuse by other sites. */
export interface ProtectionOptions {
  /**
   * Other origins whose pages may send requests that change something, to all routes: `https://admin.example.org`. The
   * default `_cross_origin` of a route is an exception for one route.
   */
  readonly crossOrigin?: readonly string[] | undefined
  /** Other origins whose scripts may read the responses of all routes. The default `_cors` of a route replaces it. */
  readonly cors?: CorsPolicy | undefined
  /**
   * Headers of all responses with a body, in addition to {@link defaultHeaders} or instead of them. `false` removes a
   * default. A header that a response has already wins.
   */
  readonly headers?: Readonly<Record<string, string | false>> | undefined
  /** Whether a POST with the query parameter `_method` counts as PUT, PATCH or DELETE: HTML forms only know GET and POST. */
  readonly methodOverride?: boolean | undefined
}

/** The checked options. */
export interface ResolvedProtection {
  readonly crossOrigin: readonly string[]
  readonly cors: CorsPolicy | undefined
  readonly headers: Headers
  readonly methodOverride: boolean
}

/** The headers of all responses with a body; by default browsers then show fewer errors of an application to others. */
export const defaultHeaders: Readonly<Record<string, string>> = {
  // Otherwise a browser may interpret a text of a client as a script or a page.
  'x-content-type-options': 'nosniff',
  // Only pages of the same origin show a page in a frame: a click in a hidden frame is no click of the user.
  'x-frame-options': 'SAMEORIGIN',
  // Other sites learn the origin of a link, not its path.
  'referrer-policy': 'strict-origin-when-cross-origin',
}

/** The shape of the options, which is checked before {@link findProtectionMistakes}. */
export const protectionShape: ShapeOf<ProtectionOptions> = {
  crossOrigin: 'list',
  cors: corsShape,
  headers: 'object',
  methodOverride: 'boolean',
}

/** Lists the mistakes of options that have the right shape. Each one is a sentence without a full stop. */
export function findProtectionMistakes(options: ProtectionOptions): string[] {
  const { cors, crossOrigin = [], headers = {} } = options
  return [
    ...crossOrigin.filter(origin => !isOrigin(origin)).map(origin => describeNoOrigin('crossOrigin', origin)),
    ...(cors === undefined ? [] : findCorsMistakes(cors, 'cors')),
    ...Object.entries(headers).flatMap(([name, value]) => findHeaderMistakes(name, value)),
  ]
}

function findHeaderMistakes(name: string, value: string | false): string[] {
  if (value === false) return []
  try {
    if (typeof value === 'string') new Headers({ [name]: value })
    else return [`headers.${name} is "${value}": use a text, or false to remove it`]
    return []
  } catch (error) {
    return [`headers.${name} is "${value}": ${(error as Error).message.replace(/\.$/, '')}`]
  }
}

/** Adds the defaults to checked options. */
export function resolveProtection(options: ProtectionOptions): ResolvedProtection {
  const { cors, crossOrigin = [], headers = {}, methodOverride = false } = options
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const all = { ...defaultHeaders, ...Object.fromEntries(own) }
  const kept = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== false)
  return { crossOrigin, cors, headers: new Headers(kept), methodOverride }
}
