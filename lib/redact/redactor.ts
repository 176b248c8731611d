import { maskSource } from './mask-source.ts'
import { maskText, mayHaveSecret } from './mask-text.ts'
import { isUrl, maskUrl } from './mask-url.ts'
import { isSecretName, mask, type NameTest, secretUnder, TextMemo } from './secret-names.ts'

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>

/** The environment variables whose values may be seen: public settings, the time zone and the language. */
const shownVariables: readonly string[] = [
  'APP_ENV',
  'APP_DEBUG',
  'NODE_ENV',
  'LOG_LEVEL',
  'APP_HOSTS',
  'TRUSTED_PROXIES',
  'TRUSTED_HEADERS',
  'DEBUG_ALLOWED_IPS',
  'DEBUG_ALLOWED_USERS',
  'EDITOR_URL',
  'EDITOR_PATHS',
  'PROFILER_MCP',
  'PROFILER_MCP_REPLAY',
  'TZ',
  'LANG',
]

/** What a shell calls the working directory reads like a password. */
const workingDirectories: ReadonlySet<string> = new Set(['PWD', 'OLDPWD'])

const depthLimit = 10
/** URLs within queries of URLs. */
const nestingLimit = 4
const entryLimit = 5000
const shortestSecret = 8
const separator = /[=@:%]/

/**
 * Masks secrets before anything is written down: `******` stands for a secret, an empty one stays empty.
 *
 * Beside what texts and names give away by themselves, it knows the environment. Of every variable that is not shown,
 * {@link Redactor.environment} hides the value. Wherever such a value occurs inside a text it is hidden, too, when it
 * is known to be a secret: its name is a secret's (`APP_SECRET`, `MAILER_DSN`), or it carries one (a `DATABASE_URL` with
 * a password). Other values, such as those of `PATH`, `PWD` (which is no password) or `APP_HOSTS`, are parts of ordinary
 * texts, and hiding them would wreck every stack and every URL; so would values shorter than 8 characters.
 */
export class Redactor {
  readonly #variables: Variables
  readonly #shown: ReadonlySet<string>
  #secrets: RegExp | undefined
  #maskMore: (text: string) => string = text => text
  readonly #revealed = new Set<string>()
  /** Texts without a secret, which are most of those that come again. What has one is not kept. */
  readonly #harmless = new TextMemo<true>()

  constructor(variables: Variables = {}, shown: readonly string[] = shownVariables) {
    this.#variables = variables
    this.#shown = new Set(shown)
    this.#secrets = this.#createPattern()
  }

  /**
   * Has values under these names shown from now on, also where they are environment variables; case does not count. Of a
   * name in brackets, such as `user[email]`, what is in the last ones counts.
   */
  reveal(names: Iterable<string>): void {
    for (const name of names) this.#revealed.add(name.toLowerCase())
    this.#secrets = this.#createPattern()
  }

  /** Whether a name gives its value away as a secret. */
  readonly isSecret: NameTest = name => isSecretName(name) && !this.#isRevealed(name)

  /** Adds a function that masks more in every text, such as in the paths of routes. It runs for each text, so it has to be quick. */
  add(maskMore: (text: string) => string): void {
    const maskBefore = this.#maskMore
    this.#maskMore = text => maskMore(maskBefore(text))
  }

  /**
   * Masks the secrets inside a text: see {@link maskText}, and values of secret environment variables. A URL is masked pair
   * by pair.
   */
  text(given: string): string {
    const text = this.#maskMore(given)
    // Too short for a secret of the environment, and without what any other is recognised by.
    if (text.length < shortestSecret && !separator.test(text)) return text
    if (this.#harmless.get(text)) return text
    const masked = this.#mask(this.knownSecrets(text), nestingLimit)
    if (masked === text) this.#harmless.set(text, true)
    return masked
  }

  /** Masks the secrets inside a program: see {@link maskSource}, and values of secret environment variables. */
  source(text: string): string {
    return maskSource(this.knownSecrets(text), this.isSecret)
  }

  /** Masks the values of secret environment variables alone; JSON stays JSON. */
  knownSecrets(text: string): string {
    return this.#secrets === undefined ? text : text.replace(this.#secrets, mask)
  }

  /**
   * Copies plain data (what JSON can hold) with everything masked that a name or a text gives away; `name` is what
   * holds the value. What lies deeper than 10 levels, exceeds 5,000 entries, or is no plain data, becomes `…`.
   */
  value(name: string, value: unknown): unknown {
    return this.#copy(name, value, depthLimit, { left: entryLimit })
  }

  /** The environment, sorted by name: every name, and the values that may be seen. */
  environment(): Record<string, string> {
    const masked = Object.entries(this.#variables).map(([name, value = '']): [string, string] => [
      name,
      value === '' ? value : this.#isShown(name) ? this.text(value) : mask,
    ])
    return Object.fromEntries(masked.sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** The value of a query may be a URL itself. */
  #mask(text: string, depth: number): string {
    if (!mayHaveSecret(text)) return text
    if (depth > 0 && isUrl(text)) return maskUrl(text, this.isSecret, part => this.#mask(part, depth - 1))
    const masked = maskText(text, this.isSecret)
    // A blank that kept a text from being a URL may have been masked.
    return depth > 0 && masked !== text && isUrl(masked) ? this.#mask(masked, depth) : masked
  }

  #copy(name: string, value: unknown, depth: number, entries: { left: number }): unknown {
    if (value === undefined || value === null || value === '') return value
    if (this.isSecret(name)) return mask
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number' || typeof value === 'boolean') return value
    if (depth === 0) return '…'
    const isWithin = () => entries.left-- > 0
    if (Array.isArray(value)) return value.filter(isWithin).map(item => this.#copy('', item, depth - 1, entries))
    if (!isRecord(value)) return '…'
    const named = secretUnder(value, this.isSecret)
    const pairs = Object.entries(value)
      .filter(isWithin)
      .map(([key, item]) => [
        this.text(key),
        key === named && item !== '' ? mask : this.#copy(key, item, depth - 1, entries),
      ])
    return Object.fromEntries(pairs)
  }

  #isShown(name: string): boolean {
    return this.#shown.has(name) || this.#isRevealed(name)
  }

  #isRevealed(name: string): boolean {
    if (this.#revealed.size === 0) return false
    const [last = name] = /[^[\]]+(?=\]*$)/.exec(name) ?? []
    return this.#revealed.has(name.toLowerCase()) || this.#revealed.has(last.toLowerCase())
  }

  #createPattern(): RegExp | undefined {
    return createPattern(Object.entries(this.#variables).flatMap(entry => this.#secretsOf(...entry)))
  }

  #secretsOf(name: string, value = ''): string[] {
    const passwords = passwordOf(value)
    const isSecret = isSecretName(name) && !workingDirectories.has(name)
    if (this.#isShown(name) || (!isSecret && passwords.length === 0 && maskText(value) === value)) return []
    return [value, ...passwords]
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** The password of a URL such as `smtp://user:password@host`, as it is written and as it is meant. */
function passwordOf(value: string): string[] {
  const password = /^[a-z][a-z\d+.-]*:\/\/[^:@/]*:([^@]+)@/i.exec(value)?.[1]
  if (password === undefined) return []
  try {
    return [password, decodeURIComponent(password)]
  } catch {
    return [password]
  }
}

/** Finds each secret as it is, percent-encoded, or escaped in JSON; longer ones first, as one may contain another. */
function createPattern(secrets: readonly string[]): RegExp | undefined {
  const forms = secrets.filter(secret => secret.length >= shortestSecret).flatMap(formsOf)
  const sorted = [...new Set(forms)].sort((a, b) => b.length - a.length)
  return sorted.length === 0 ? undefined : new RegExp(sorted.map(escapeRegExp).join('|'), 'g')
}

function formsOf(secret: string): string[] {
  const text = secret.toWellFormed()
  const component = encodeURIComponent(text)
  // JavaScript leaves five characters alone that RFC 3986 reserves; other encoders do not.
  const strict = component.replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
  const form = new URLSearchParams([['', text]]).toString().slice(1)
  const encoded = [component, strict, form, component.replaceAll('%20', '+')]
  const lowerCase = encoded.map(each => each.replace(/%../g, code => code.toLowerCase()))
  return [secret, ...encoded, ...lowerCase, JSON.stringify(secret).slice(1, -1)]
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
