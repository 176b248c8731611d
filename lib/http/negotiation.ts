import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { ARGUMENT_INVALID } from '../errors/arguments.ts'
import { describeValue } from '../text/describe-value.ts'
import { TextMemo } from '../text/text-memo.ts'
import { Headers } from './headers.ts'
import { isJsonType } from './media-type.ts'
import type { Body } from './response.ts'

/** A content coding of responses (RFC 9110, section 8.4.1): Brotli or gzip. */
export type Coding = 'br' | 'gzip'

/**
 * The media type of `available` that the client prefers by its Accept header (RFC 9110, section
 * 12.5.1). `undefined` when none is acceptable; the first one if there is no header, or none with a
 * media type. Among types of equal quality the RFC leaves the choice to the server: here a name wins
 * over a wildcard, then the type wins that the client names first, then the closest one, then the first
 * of `available`. So a client that accepts JSON and, equally, everything gets JSON rather than HTML.
 *
 * A client that names a type with parameters, as in `application/json; charset=utf-8`, also gets the type without them.
 * A client that names a JSON type also gets another one, such as `application/problem+json` for `application/json`.
 */
export function preferredMediaType<type extends string>(
  headers: Headers,
  available: readonly type[],
): type | undefined {
  checkChoice('preferredMediaType(request.headers, types)', headers, available, "['text/html', 'application/json']")
  const accept = headers.get('accept')
  return accept === null ? available[0] : recall(accept, available, () => negotiateType(accept, available))
}

/** @throws ARGUMENT_INVALID */
function checkChoice(call: string, headers: unknown, available: unknown, right: string): void {
  if (!(headers instanceof Headers))
    throw new ARGUMENT_INVALID([call, `it needs the headers of a request, not ${describeValue(headers)}`])
  if (Array.isArray(available) && typeof (available[0] ?? '') === 'string') return
  const noun = call.slice(call.indexOf(', ') + 2, -1)
  throw new ARGUMENT_INVALID([call, `the ${noun} are a list such as ${right}, not ${describeValue(available)}`])
}

function negotiateType<type extends string>(accept: string, available: readonly type[]): type | undefined {
  const ranges = parsePreferences(accept).filter(({ value }) => mediaRange.test(value))
  if (ranges.length === 0) return available[0]
  const matches = available.flatMap(type => findMatches(type, ranges))
  return matches.sort(compareMatches).find(({ quality }) => quality > 0)?.type
}

const mediaRange = /^(?:[^\s/]+\/[^\s/]+|\*)$/

/** A media type, and a range of the client that describes it. */
interface Match<type> {
  readonly type: type
  readonly quality: number
  readonly closeness: number
  /** The place of the range in the header. */
  readonly position: number
}

/**
 * How closely a range describes a type. From `otherJson` to `otherParameters`, the RFC says that
 * it is a range of other types.
 */
const closeness = { everything: 1, family: 2, suffix: 3, otherJson: 4, plainJson: 5, otherParameters: 6, exact: 7 }

/**
 * The closest range decides, as in the RFC. A range of other types counts as well, unless another
 * range names exactly this type.
 */
function findMatches<type extends string>(type: type, ranges: readonly Preference[]): Match<type>[] {
  const [offered] = parsePreferences(type)
  if (offered === undefined) return []
  const others: Match<type>[] = []
  let closest: Match<type> | undefined
  for (const [position, range] of ranges.entries()) {
    const match = { type, quality: range.quality, closeness: measure(range, offered), position }
    if (match.closeness === 0) continue
    if (match.closeness > closeness.suffix && match.closeness < closeness.exact) others.push(match)
    else if (closest === undefined || isCloser(match, closest)) closest = match
  }
  if (closest === undefined) return others
  return closest.closeness >= closeness.exact ? [closest] : [...others, closest]
}

function isCloser(one: Match<unknown>, other: Match<unknown>): boolean {
  return one.closeness > other.closeness || (one.closeness === other.closeness && one.quality > other.quality)
}

/** Returns how closely a range describes a type; 0 if it does not. */
function measure({ parameters, value }: Preference, type: Preference): number {
  let shared = 0
  for (const [name, text] of parameters) {
    const offered = type.parameters.get(name)
    if (offered === text) shared++
    else if (offered !== undefined) return 0
  }
  if (value === type.value) return shared < parameters.size ? closeness.otherParameters : closeness.exact + shared
  if (value.includes('*')) return measureWildcard(value, type.value)
  if (!isJsonType(value) || !isJsonType(type.value)) return 0
  return value === 'application/json' || type.value === 'application/json' ? closeness.plainJson : closeness.otherJson
}

function measureWildcard(range: string, type: string): number {
  if (range === '*' || range === '*/*') return closeness.everything
  const [family = '', subtype = ''] = range.split('/')
  if (!type.startsWith(`${family}/`)) return 0
  if (subtype === '*') return closeness.family
  // `application/*+json` is no range of the RFC, but clients send it. They mean `application/json`, too.
  const suffix = subtype.startsWith('*+') ? subtype.slice(2) : ''
  return suffix !== '' && (type.endsWith(`+${suffix}`) || type === `${family}/${suffix}`) ? closeness.suffix : 0
}

function compareMatches(a: Match<unknown>, b: Match<unknown>): number {
  const isNamed = (match: Match<unknown>) => Math.min(match.closeness, closeness.suffix)
  return b.quality - a.quality || isNamed(b) - isNamed(a) || a.position - b.position || b.closeness - a.closeness
}

/**
 * The language of `available` that the client prefers by its Accept-Language header (RFC 9110, section
 * 12.5.4). Each language of the client is looked up as it is, then with fewer and fewer subtags (RFC
 * 4647, section 3.4): a client that prefers `de-AT` gets `de`. If there is no such language, one with
 * more subtags is as good: for `en` or `en-GB` a client gets `en-US`. The first one of `available` is
 * for all other clients, because a page in another language is better than an error.
 */
export function preferredLanguage<language extends string>(
  headers: Headers,
  available: readonly [language, ...language[]],
): language {
  checkChoice('preferredLanguage(request.headers, languages)', headers, available, "['en', 'de']")
  const accept = headers.get('accept-language')
  if (accept === null) return available[0]
  return recall(accept, available, () => lookUpLanguage(accept, available)) ?? available[0]
}

/** The most characters of a language of the client that are read. */
const lengthLimit = 100

function lookUpLanguage<language extends string>(accept: string, available: readonly language[]): language | undefined {
  const ranges = parsePreferences(accept)
  const languages = available
    .map(language => ({ language, tag: language.toLowerCase(), quality: weighLanguage(language, ranges) }))
    // A language with the quality 0 is not acceptable.
    .filter(({ quality }) => quality !== 0)
  for (const { quality, value } of ranges.toSorted((a, b) => b.quality - a.quality)) {
    if (quality === 0) break
    const found = value === '*' ? languages.find(other => other.quality === quality) : findLanguage(value, languages)
    if (found !== undefined) return found.language
  }
  return undefined
}

function findLanguage<known extends { readonly tag: string }>(
  wanted: string,
  languages: readonly known[],
): known | undefined {
  for (let part = wanted.slice(0, lengthLimit); part !== ''; part = shortenTag(part)) {
    const found = languages.find(({ tag }) => tag === part) ?? languages.find(({ tag }) => tag.startsWith(`${part}-`))
    if (found !== undefined) return found
  }
  return undefined
}

/** The quality of the longest range that a language begins with (RFC 4647, section 3.3.1). */
function weighLanguage(language: string, ranges: readonly Preference[]): number | undefined {
  for (let part = language.toLowerCase(); part !== ''; part = shortenTag(part)) {
    const range = ranges.find(({ value }) => value === part)
    if (range !== undefined) return range.quality
  }
  return ranges.find(({ value }) => value === '*')?.quality
}

/** Removes the last subtag, and a subtag of one letter before it. */
function shortenTag(tag: string): string {
  return tag.replace(/(?:-[a-z\d])?-[^-]*$|^[^-]*$/, '')
}

/**
 * The coding of `available` that the client prefers by its Accept-Encoding header (RFC 9110, section 12.5.3). The first
 * one of equal quality wins. `undefined`: the body is sent without a coding.
 */
export function preferredCoding(headers: Pick<Headers, 'get'>, available: readonly Coding[]): Coding | undefined {
  const accept = headers.get('accept-encoding')
  if (accept === null || accept === 'identity') return undefined
  return recall(accept, available, () => negotiateCoding(accept, available))
}

function negotiateCoding(accept: string, available: readonly Coding[]): Coding | undefined {
  const codings = parsePreferences(accept)
  const weigh = (coding: string) =>
    (codings.find(({ value }) => value === coding) ?? codings.find(({ value }) => value === '*'))?.quality ?? 0
  const [best] = available.toSorted((a, b) => weigh(b) - weigh(a))
  if (best === undefined || weigh(best) === 0) return undefined
  return weigh(best) < weigh('identity') ? undefined : best
}

/** An element of Accept, Accept-Language or Accept-Encoding, in lower case. */
interface Preference {
  readonly value: string
  /** The parameters before the quality, without quotes. */
  readonly parameters: ReadonlyMap<string, string>
  /** From 0, which means not acceptable, to 1. */
  readonly quality: number
}

/** The most elements of a header that are read. */
const elementLimit = 100

/** Parses a list of preferences (RFC 9110, section 12.4.2). An element is left out if its quality is no number. */
function parsePreferences(header: string): Preference[] {
  const elements = header.toLowerCase().match(/(?:[^,"]+|"(?:\\.|[^"\\])*"?)+/g) ?? []
  return elements.slice(0, elementLimit).flatMap(element => parsePreference(element) ?? [])
}

const noParameters: ReadonlyMap<string, string> = new Map()

function parsePreference(element: string): Preference | undefined {
  // Most elements have no parameters.
  if (!element.includes(';')) return { value: element.trim(), parameters: noParameters, quality: 1 }
  const [value = '', ...rest] = element.match(/(?:[^;"]+|"(?:\\.|[^"\\])*"?)+/g) ?? []
  const parameters = new Map<string, string>()
  for (const parameter of rest) {
    const [, name = '', text = ''] = /^([^=]*)(?:=(.*))?$/s.exec(parameter) ?? []
    const plain = text.trim().replace(/^"|"$/g, '').replace(/\\(.)/g, '$1')
    if (name.trim() !== 'q') parameters.set(name.trim(), plain)
    else if (!/^(?:\d+(?:\.\d*)?|\.\d+)$/.test(plain)) return undefined
    else return { value: value.trim(), parameters, quality: Math.min(Number(plain), 1) }
  }
  return { value: value.trim(), parameters, quality: 1 }
}

/** The caches of results, by the list of available types or codings. */
const answers = new WeakMap<readonly unknown[], TextMemo<{ readonly result: unknown }>>()

/** Most clients send the same headers, so results are cached: a negotiation costs some microseconds. */
function recall<result>(accept: string, available: readonly unknown[], negotiate: () => result): result {
  const known = answers.get(available) ?? new TextMemo<{ readonly result: unknown }>(100, 256)
  const answer = known.get(accept)
  // This function alone writes the cache of a list, so the answer has the type.
  if (answer !== undefined) return answer.result as result
  const result = negotiate()
  known.set(accept, { result })
  answers.set(available, known)
  return result
}

/** Bytes below which a body is not compressed: it fits into the first packet anyway. */
export const compressionThreshold = 1024

/** Bytes up to which a body is compressed synchronously: another thread would cost more than it saves. */
const syncLimit = 32 * 1024

const compressible =
  /^(?:text\/(?!event-stream)|image\/(?:svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)|font\/[ot]tf|application\/(?:json|javascript|xml|wasm|x-ndjson|[^;]*\+(?:json|xml)))/i

/**
 * Whether content of a type gets much smaller: text does, a format with its own compression does not. Server-sent
 * events are not compressed, because proxies between would buffer them.
 */
export function isCompressible(contentType: string | null): boolean {
  return contentType !== null && compressible.test(contentType)
}

const { constants } = zlib
const brotli = promisify(zlib.brotliCompress)
const gzip = promisify(zlib.gzip)

/** The default quality of Brotli is 60 times slower. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/** Compresses a body. Returns a promise for a large one, so that other requests do not wait. */
export function compress(body: NonNullable<Body>, coding: Coding): Uint8Array | Readable | Promise<Uint8Array> {
  if (body instanceof Readable) return compressStream(body, coding)
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes.length > syncLimit) return coding === 'br' ? brotli(bytes, brotliOptions) : gzip(bytes)
  return coding === 'br' ? zlib.brotliCompressSync(bytes, brotliOptions) : zlib.gzipSync(bytes)
}

/** Compresses as small as possible, which is slow: for content that is cached. */
export function compressWell(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
  return coding === 'br' ? brotli(bytes) : gzip(bytes, { level: constants.Z_BEST_COMPRESSION })
}

/** Compresses a stream. Each chunk is flushed at once. If one of the two streams ends, the other ends, too. */
function compressStream(body: Readable, coding: Coding): Readable {
  const compressor =
    coding === 'br'
      ? zlib.createBrotliCompress({ ...brotliOptions, flush: constants.BROTLI_OPERATION_FLUSH })
      : zlib.createGzip({ flush: constants.Z_SYNC_FLUSH })
  // The reader of the compressor gets the errors.
  return pipeline(body, compressor, () => undefined)
}
