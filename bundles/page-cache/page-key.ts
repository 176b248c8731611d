import { createHash } from 'node:crypto'
import type { Request } from '../../lib/http/request.ts'

/**
 * Request headers from which frameworks and libraries take the URL or the method. A page may contain their
 * values, so each value has pages of its own: no client can put a link to another host into the pages of others.
 */
const addressHeaders = [
  ...['forwarded', 'front-end-https', 'x-forwarded-host', 'x-forwarded-path', 'x-forwarded-port', 'x-forwarded-prefix'],
  ...['x-forwarded-proto', 'x-forwarded-protocol', 'x-forwarded-scheme', 'x-forwarded-server', 'x-forwarded-ssl'],
  ...['x-forwarded-uri', 'x-host', 'x-http-host-override', 'x-http-method', 'x-http-method-override'],
  ...['x-method-override', 'x-original-host', 'x-original-url', 'x-rewrite-url', 'x-url-scheme'],
]

/**
 * The key of a page: all of its URL as it was sent, since another order of a query may be another
 * page. A fragment has keys of its own, with the language of its page, which it inherits.
 */
export function toKey(request: Request): string {
  const { attributes, headers, method, parent } = request
  const addresses = addressHeaders.map(name => {
    const value = headers.get(name)
    // The address of the client is in no URL.
    return name === 'forwarded' ? (value?.replace(/\b(?:for|by)=(?:"[^"]*"|[^;,]*)/gi, '') ?? null) : value
  })
  const kind = parent === undefined ? 'page' : ['fragment', attributes.get('_locale') ?? null]
  return hash([kind, method === 'HEAD' ? 'GET' : method, ...partsOf(request), headers.getAll('host'), addresses])
}

/** The tag of the pages and fragments of a URL. */
export function toUrlTag(request: Pick<Request, 'basePath' | 'origin' | 'queryString' | 'rawPath'>): string {
  return `url:${hash(partsOf(request))}`
}

function partsOf({ basePath, origin, queryString, rawPath }: Parameters<typeof toUrlTag>[0]): string[] {
  return [origin, basePath, rawPath, queryString]
}

/** The values of the request headers that a page depends on. */
export function toVariant({ headers }: Request, vary: readonly string[]): string {
  return vary.length === 0 ? '' : hash(vary.map(name => [name, headers.getAll(name)]))
}

/** The key of a page with a variant. */
export function toVariantKey(key: string, variant: string): string {
  return hash([key, variant])
}

function hash(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}
