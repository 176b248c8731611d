import { checkArguments } from '../errors/arguments.ts'
import { splitList } from '../text/conversion.ts'
import { escapeRegExp } from '../text/escapes.ts'
import { TextMemo } from '../text/text-memo.ts'
import type { WordFinder } from '../text/word-finder.ts'
import { decodePart, isUrl, maskSource, maskText, maskUrl } from './mask-text.ts'
import { type CopyBounds, MaskingCopier, maskCommandLine } from './masking-copier.ts'
import { createFinder, findWords, moreBit } from './secret-forms.ts'
import { isSecretName, mask, type NameTest } from './secret-names.ts'

/** Environment variables by name. */
type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** Environment variables that are not settings, and whose values may be seen: the time zone and the language. */
const shownVariables: readonly string[] = ['TZ', 'LANG']

/** `PWD` reads like a password, but a shell keeps the working directory there. */
const workingDirectories: ReadonlySet<string> = new Set(['PWD', 'OLDPWD'])

/** An address of this machine, such as the `__NEXT_PRIVATE_ORIGIN` of Next.js: it is in the URL of each request. */
const ownAddress = /^(?:https?:\/\/)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1?\]|0\.0\.0\.0)(?::\d+)?\/?$/

const valueBounds: CopyBounds = { depth: 10, entries: 5000, text: Number.POSITIVE_INFINITY }
/** Levels of URLs within queries of URLs. */
const nestingLimit = 4
const shortestSecret = 8
const separator = /[=@:%]/

/**
 * Masks secrets before anything is stored: `******` replaces a secret, an empty secret stays empty.
 *
 * A text goes through these steps: the functions of {@link Redactor.add} (the kernel adds one for paths of routes), the
 * values of secret environment variables, then {@link maskText}, for a URL pair by pair.
 *
 * A variable is secret if its name is secret (`APP_SECRET`, `MAILER_DSN`) or its value contains a secret (a
 * `DATABASE_URL` with a password). Other values, such as those of `PATH` and `APP_HOSTS`, occur in ordinary
 * texts: masking them there would make every stack and URL unreadable. The same is true of values shorter than 8
 * characters. The list of {@link Redactor.environment} masks them all, except for settings that are not secret.
 */
export class Redactor {
  readonly #variables: EnvironmentVariables
  readonly #shown = new Set(shownVariables)
  /** Matches the declared secret names in any case. Names that look secret are not in it. */
  #declared = /(?!)/
  readonly #secretSettings = new Set<string>()
  /** The variables as they were when a method has changed what is secret. */
  #values: readonly [name: string, value: string | undefined][] = []
  /** The secrets among them; found for the first text. */
  #known: KnownSecrets | undefined
  #maskMore: (text: string) => string = text => text
  readonly #revealed = new Set<string>()
  /** Texts without a secret: the same ones come with each request. Secrets are not kept. */
  #harmless = new TextMemo<true>(1000, 256)
  #misses = 0

  constructor(variables: EnvironmentVariables = {}) {
    this.#variables = variables
    this.#readVariables()
  }

  /**
   * Learns which variables are settings: from now on values of secret settings are masked although
   * their names do not look secret, each entry of a list for itself, and values of other settings
   * are shown in {@link Redactor.environment}.
   */
  declare(settings: Iterable<{ readonly name: string; readonly isSecret: boolean }>): void {
    for (const { name, isSecret } of settings) {
      const names = isSecret ? this.#secretSettings : this.#shown
      names.add(name)
      if (isSecret && !isSecretName(name))
        this.#declared = new RegExp(`${this.#declared.source}|^${escapeRegExp(name)}$`, 'i')
    }
    this.#readVariables()
  }

  /**
   * Shows values under these names from now on, those of environment variables included. Case does
   * not matter. A name such as `user[email]` is also found by the part in its last brackets.
   */
  reveal(names: Iterable<string>): void {
    for (const name of names) this.#revealed.add(name.toLowerCase())
    this.#readVariables()
  }

  /** Whether the value under a name is a secret. */
  readonly isSecret: NameTest = name => {
    // A name in lower case would be a new text, in each request.
    return (isSecretName(name) || this.#declared.test(name)) && !this.#isRevealed(name)
  }

  /**
   * Adds a function that masks more in every text, such as the paths of routes. It runs for each
   * text, so it must be fast; JSON must stay valid.
   */
  add(maskMore: (text: string) => string): void {
    checkArguments('redactor.add(mask)', ['sync function'], maskMore)
    const maskBefore = this.#maskMore
    this.#maskMore = text => maskMore(maskBefore(text))
  }

  /** Masks the secrets in a text. */
  text(given: string): string {
    const plain = this.#maskMore(given)
    // Too short for a secret of the environment, and without a character that every other form needs.
    if (plain.length < shortestSecret && !separator.test(plain)) return plain
    if (this.#harmless.get(plain)) return plain
    const { finder, pattern } = this.#secrets
    const found = findWords(plain, undefined, finder)
    const text = (found & moreBit) === 0 ? plain : plain.replace(pattern, mask)
    const masked = (found & ~moreBit) === 0 ? text : this.#mask(text, nestingLimit)
    // To keep a text takes longer than to read it. Those that come again and again are kept sooner or later.
    if (masked === plain && (found !== 0 || this.#misses++ % 7 === 0)) this.#harmless.set(plain, true)
    return masked
  }

  /** Masks the secrets in a source text: values of secret environment variables, and what {@link maskSource} finds. */
  source(text: string): string {
    return maskSource(this.#maskKnown(text), this.isSecret)
  }

  /** Masks only the values of secret environment variables, and what added functions mask. JSON stays valid JSON. */
  knownSecrets(text: string): string {
    return this.#maskKnown(this.#maskMore(text))
  }

  /** Copies a value into plain, masked data: ten levels deep and 5,000 entries, see {@link MaskingCopier}. */
  value(name: string, value: unknown): unknown {
    return new MaskingCopier(this, valueBounds).value(name, value)
  }

  /** Masks the secrets in the arguments of a command line, see {@link maskCommandLine}. */
  commandLine(values: readonly string[]): string[] {
    return maskCommandLine(values, this)
  }

  /** All environment variables, sorted by name. Values that may not be seen are masked. */
  environment(): Record<string, string> {
    const all = Object.entries(this.#variables).sort(([a], [b]) => (a < b ? -1 : 1))
    const show = (name: string, value: string) =>
      this.#shown.has(name) || this.#isRevealed(name) ? this.text(value) : mask
    return Object.fromEntries(all.map(([name, value = '']) => [name, value === '' ? '' : show(name, value)]))
  }

  /** Recursive, because a value of a query may be a URL. */
  #mask(text: string, depth: number): string {
    if (depth > 0 && isUrl(text) && findWords(text) !== 0)
      return maskUrl(text, this.isSecret, part => this.#mask(part, depth - 1))
    const masked = maskText(text, this.isSecret)
    // A text with a blank is no URL. If the blank was part of a masked value, the rest may be one.
    return depth > 0 && masked !== text && isUrl(masked) ? this.#mask(masked, depth) : masked
  }

  #isRevealed(name: string): boolean {
    if (this.#revealed.size === 0) return false
    const [last = name] = /(?<![^[\]])[^[\]]+(?=\]*$)/.exec(name) ?? []
    return this.#revealed.has(name.toLowerCase()) || this.#revealed.has(last.toLowerCase())
  }

  #maskKnown(text: string): string {
    const { forms, pattern } = this.#secrets
    return forms.length === 0 ? text : text.replace(pattern, mask)
  }

  /** An application may delete a variable after it was read. */
  #readVariables(): void {
    this.#values = Object.entries(this.#variables)
    this.#known = undefined
    this.#harmless = new TextMemo(1000, 256)
  }

  get #secrets(): KnownSecrets {
    this.#known ??= this.#findSecrets()
    return this.#known
  }

  /** Longer secrets come first: one may contain another. */
  #findSecrets(): KnownSecrets {
    const secrets = this.#values.flatMap(entry => this.#secretsOf(...entry))
    const found = secrets.filter(secret => secret.length >= shortestSecret).flatMap(formsOf)
    const forms = [...new Set(found)].sort((a, b) => b.length - a.length)
    const pattern = new RegExp(forms.map(escapeRegExp).join('|'), 'g')
    return { forms, pattern, finder: createFinder(forms.map(form => form.slice(0, 6)).join('¦')) }
  }

  #secretsOf(name: string, value = ''): string[] {
    if (this.#isRevealed(name)) return []
    const passwords = passwordOf(value)
    // The value of a public setting may be shown, but not a password in it.
    if (this.#shown.has(name)) return passwords
    // The setting may be a list, of which the application sees single entries.
    const entries = this.#secretSettings.has(name) ? splitList(value) : []
    const isSecret = this.isSecret(name) && !workingDirectories.has(name) && !ownAddress.test(value)
    return isSecret || passwords.length > 0 || maskText(value) !== value ? [value, ...entries, ...passwords] : []
  }
}

/** The secrets of variables. */
interface KnownSecrets {
  /** Each in all of its forms. */
  readonly forms: readonly string[]
  readonly pattern: RegExp
  /** Finds their beginnings, and the words of other secrets. */
  readonly finder: WordFinder
}

/** The password of a URL such as `smtp://user:password@host`, as it is written and percent-decoded. */
function passwordOf(value: string): string[] {
  const password = /^[a-z][a-z\d+.-]*:\/\/[^:@/]*:([^@]+)@/i.exec(value)?.[1]
  return password === undefined ? [] : [password, decodePart(password, password)]
}

/** A secret as it is, percent-encoded, and escaped in JSON. */
function formsOf(secret: string): string[] {
  const text = secret.toWellFormed()
  const component = encodeURIComponent(text)
  // JavaScript does not encode five characters that RFC 3986 reserves. Other encoders do.
  const strict = component.replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
  const form = new URLSearchParams([['', text]]).toString().slice(1)
  const encoded = [component, strict, form, component.replaceAll('%20', '+')]
  const lowerCase = encoded.map(each => each.replace(/%../g, code => code.toLowerCase()))
  return [secret, ...encoded, ...lowerCase, JSON.stringify(secret).slice(1, -1)]
}
