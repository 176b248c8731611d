import { mask, type NameTest } from '../redact/secret-names.ts'
import { escapeRegExp } from '../text/escapes.ts'
import type { PatternForm } from './pattern.ts'
import type { Route } from './route.ts'

/** The routes of a router. More may be added. */
interface GrowingRoutes extends Iterable<Route> {
  readonly size: number
}

interface SecretPath {
  /** Has one group for each part of the path. */
  readonly pattern: RegExp
  readonly isSecret: readonly boolean[]
}

/** Paths that are learned from requests: the oldest are forgotten. */
const learnedLimit = 200

/** A value that is no word and no number, which may be in any text: numbers and names of fields in JSON, too. */
const unusual = /^(?=.*\d)(?=.*[a-z]).{6,}$/is

/** A variable of a pattern, `:token` or `{token}`, and no value. */
const variable = /^[:*{]/

/**
 * Masks the values of secret variables in the paths of routes, wherever such a path is in a text: the
 * token in `/reset/:token`. A route may name variables that are not secret in its default `_public`. It
 * costs nothing if no route has a secret variable. The paths of other routers are learned from requests.
 */
export class SecretPaths {
  readonly #routes: GrowingRoutes
  readonly #isSecret: NameTest
  #size = -1
  #paths: readonly SecretPath[] = []
  /** Paths of routes without variables, such as `/reset/help`, which may look like a path with a secret. */
  #fixed: ReadonlySet<string> = new Set()
  readonly #learned = new Map<string, SecretPath>()
  readonly #learnedFixed = new Set<string>()
  /** The secret values of the request whose texts are masked now. */
  #values: readonly string[] = []

  constructor(routes: GrowingRoutes, isSecret: NameTest) {
    this.#routes = routes
    this.#isSecret = isSecret
  }

  /** Masks the secret parts of the paths in a text. */
  readonly mask = (text: string): string => {
    if (this.#size !== this.#routes.size) this.prepare()
    let masked = text
    for (const value of this.#values) masked = masked.replaceAll(value, mask)
    if (this.#paths.length === 0 && this.#learned.size === 0) return masked
    for (const paths of [this.#paths, this.#learned.values()]) {
      for (const { isSecret, pattern } of paths) {
        masked = masked.replace(pattern, (path, ...groups: string[]) => {
          if (this.#fixed.has(path) || this.#learnedFixed.has(path)) return path
          return groups
            .slice(0, isSecret.length)
            .map((part, index) => (isSecret[index] && !variable.test(part) ? mask : part))
            .join('')
        })
      }
    }
    return masked
  }

  /**
   * Learns a path of another router, whose patterns have a syntax of their own, from a request: the segments with
   * values of parameters are variables. `pattern` is that of the route, if it is known. Case does not matter.
   */
  learn(path: string, pattern: string | undefined, parameters: object): void {
    if (!Object.keys(parameters).some(this.#isSecret)) {
      if (path === pattern) addBounded(this.#learnedFixed, path, key => this.#learnedFixed.add(key))
      return
    }
    const sequence = readSequence(path, parameters, this.#isSecret)
    const [first] = sequence
    if (first?.type !== 'text') return
    const learned = toSecretPath({ leadingText: first.value, sequence }, this.#isSecret, 'gi')
    if (!learned.isSecret.includes(true)) return
    addBounded(this.#learned, learned.pattern.source.toLowerCase(), key => this.#learned.set(key, learned))
  }

  /**
   * Runs a function in which the secret values of a path are masked wherever they are: a mounted router sees only its
   * part of the path, such as `/<token>`, and others have its parts as a list. These are the values of secret
   * parameters, and the segments that `masked`, which is the path, does not have.
   */
  hide<result>(path: string, masked: string, parameters: object, run: () => result): result {
    const secrets = masked === path ? [] : listMasked(path, masked)
    // The application may have replaced the functions of `Object`.
    for (const name in parameters) if (this.#isSecret(name)) secrets.push(String(Reflect.get(parameters, name)))
    if (secrets.length === 0) return run()
    const sent = path.split('/').filter(segment => secrets.includes(decode(segment)))
    this.#values = [...secrets, ...sent].filter(value => unusual.test(value))
    try {
      return run()
    } finally {
      this.#values = []
    }
  }

  /** Reads all routes: many of them take a moment. */
  prepare(): void {
    this.#size = this.#routes.size
    const routes = [...this.#routes]
    const fixed = routes.flatMap(({ path }) => path.forms.filter(form => form.isFixed))
    this.#fixed = new Set(fixed.map(({ leadingText }) => leadingText))
    this.#paths = routes.flatMap(({ defaults, path }) => {
      const shown: readonly unknown[] = Array.isArray(defaults._public) ? defaults._public : []
      const isSecret: NameTest = name => this.#isSecret(name) && !shown.includes(name)
      return path.forms.filter(({ names }) => names.some(isSecret)).map(form => toSecretPath(form, isSecret))
    })
  }
}

/** The segments of a path that are masked in the other one. */
function listMasked(path: string, masked: string): string[] {
  const shown = masked.split('/')
  return path.split('/').flatMap((segment, at) => (shown[at] === mask ? decode(segment) : []))
}

/**
 * A path that begins with a variable is recognised only as the whole path of a URL. The lookbehind
 * comes after the slash, because a lookbehind at every character takes seconds for a megabyte.
 */
const origin = '(?<=https?://[^/\\s"\'`<>\\\\]{1,255}/)'
const end = '(?=/?(?:[\\s"\'`<>?#\\\\]|$))'
const segment = '[^/\\s"\'`<>?#\\\\]{1,2000}'
const segments = '[^\\s"\'`<>?#\\\\]{1,2000}'

function toSecretPath(
  { leadingText, sequence }: Pick<PatternForm, 'leadingText' | 'sequence'>,
  isSecret: NameTest,
  flags = 'g',
): SecretPath {
  const groups = sequence.map(token => {
    if (token.type === 'text') return `(${escapeRegExp(token.value)}|${escapeRegExp(encodeURI(token.value))})`
    return `(${token.type === 'param' ? segment : segments})`
  })
  const [first = '', ...others] = groups
  const source = leadingText === '/' ? `${first}${origin}${others.join('')}${end}` : groups.join('')
  return {
    pattern: new RegExp(source, flags),
    isSecret: sequence.map(token => token.type !== 'text' && isSecret(token.name)),
  }
}

type Sequence = PatternForm['sequence']

/** Segments of a path in which values of parameters are looked for. */
const segmentLimit = 100

/** Reads which segments of a path are values of parameters; the last one with a value, if there are several. */
function readSequence(path: string, parameters: object, isSecret: NameTest): Sequence {
  const segments = path.replace(/\/+$/, '').split('/', segmentLimit)
  const decoded = segments.map(decode)
  /** The names of the variables, and the index of the segment behind each. */
  const found = new Map<number, { readonly name: string; readonly end: number }>()
  for (const [name, given] of Object.entries(parameters).reverse()) {
    const value = Array.isArray(given) ? given.join('/') : String(given ?? '')
    const length = value.split('/', segmentLimit).length
    const isFree = (at: number) => !found.has(at) || isSecret(name)
    const isWhole = (at: number, count: number) => decoded.slice(at, at + count).join('/') === value && isFree(at)
    const starts = value === '' ? [] : [...segments.keys()].slice(1).reverse()
    const whole = starts.find(at => isWhole(at, 1) || isWhole(at, length))
    const start = whole ?? starts.find(at => decoded[at]?.includes(value) && isFree(at))
    const isOne = whole === undefined || decoded[whole] === value
    if (start !== undefined) found.set(start, { name, end: start + (isOne ? 1 : length) })
  }
  const sequence: Sequence[number][] = []
  let text = ''
  for (let at = 1; at < segments.length; at++) {
    const { end, name } = found.get(at) ?? {}
    text += '/'
    if (name === undefined || end === undefined) text += segments[at]
    else {
      sequence.push({ type: 'text', value: text }, { type: end > at + 1 ? 'wildcard' : 'param', name })
      text = ''
      at = end - 1
    }
  }
  return text === '' ? sequence : [...sequence, { type: 'text', value: text }]
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Adds the newest entry; the oldest one is removed when there are too many. */
function addBounded(entries: Set<string> | Map<string, unknown>, key: string, add: (key: string) => unknown): void {
  entries.delete(key)
  add(key)
  if (entries.size > learnedLimit) for (const oldest of entries.keys()) return void entries.delete(oldest)
}
