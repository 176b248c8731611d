import { mask, type NameTest } from '../redact/secret-names.ts'
import { escapeRegExp } from '../text/escapes.ts'
import type { PatternForm } from './pattern.ts'
import type { Route } from './route.ts'

/** The routes of an application. More may be added. */
interface GrowingRoutes extends Iterable<Route> {
  readonly size: number
}

interface SecretPath {
  /** Has one group for each part of the path. */
  readonly pattern: RegExp
  readonly isSecret: readonly boolean[]
}

/**
 * Masks the values of secret variables in the paths of routes, wherever such a path is in a text: the token in
 * `/reset/:token`. A route may name variables that are not secret in its default `_public`. It costs nothing if no route has
 * a secret variable.
 */
export class SecretPaths {
  readonly #routes: GrowingRoutes
  readonly #isSecret: NameTest
  #size = -1
  #paths: readonly SecretPath[] = []
  /** Paths of routes without variables, such as `/reset/help`, which may look like a path with a secret. */
  #fixed: ReadonlySet<string> = new Set()

  constructor(routes: GrowingRoutes, isSecret: NameTest) {
    this.#routes = routes
    this.#isSecret = isSecret
  }

  /** Masks the secret parts of the paths in a text. */
  readonly mask = (text: string): string => {
    if (this.#size !== this.#routes.size) this.prepare()
    let masked = text
    for (const { isSecret, pattern } of this.#paths) {
      masked = masked.replace(pattern, (path, ...groups) => {
        if (this.#fixed.has(path)) return path
        return isSecret.map((isSecret, index) => (isSecret ? mask : groups[index])).join('')
      })
    }
    return masked
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

/**
 * A path that begins with a variable is recognised only as the whole path of a URL. The lookbehind comes after the slash,
 * because a lookbehind at every character takes seconds for a megabyte.
 */
const origin = '(?<=https?://[^/\\s"\'`<>]{1,255}/)'
const end = '(?=/?(?:[\\s"\'`<>?#]|$))'
const segment = '[^/\\s"\'`<>?#]{1,2000}'
const segments = '[^\\s"\'`<>?#]{1,2000}'

function toSecretPath({ leadingText, sequence }: PatternForm, isSecret: NameTest): SecretPath {
  const groups = sequence.map(token => {
    if (token.type === 'text') return `(${escapeRegExp(token.value)}|${escapeRegExp(encodeURI(token.value))})`
    return `(${token.type === 'param' ? segment : segments})`
  })
  const [first = '', ...others] = groups
  const source = leadingText === '/' ? `${first}${origin}${others.join('')}${end}` : groups.join('')
  return {
    pattern: new RegExp(source, 'g'),
    isSecret: sequence.map(token => token.type !== 'text' && isSecret(token.name)),
  }
}
