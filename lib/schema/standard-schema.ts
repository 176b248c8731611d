import { maskText } from '../redact/mask-text.ts'
import { cut } from '../redact/masking-copier.ts'
import { isSecretBeside, isSecretName, mask, secretsUnder } from '../redact/secret-names.ts'
import { escapeRegExp } from '../text/escapes.ts'

/** A schema of any library that follows https://standardschema.dev (version 1): valibot, zod, ArkType. */
export interface StandardSchema<value = unknown> {
  /** What every library with schemas provides in the same form. */
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<value> | Promise<SchemaResult<value>>
    readonly types?: { readonly input: unknown; readonly output: value } | undefined
  }
}

/** The result of a {@link StandardSchema}. */
export type SchemaResult<value> =
  | { readonly value: value; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** A mistake that a {@link StandardSchema} has found. */
interface SchemaIssue {
  /** What is wrong, for the user. */
  readonly message: string
  /** The keys on the way to the value; absent or empty for the whole value. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The issues of one input, for people and programs. */
export interface ReadableIssues {
  /** At most 50 issues. */
  readonly issues: readonly ReadableIssue[]
  /** How many more there are. */
  readonly omitted: number
}

/** An issue whose message contains no secret of the input. */
interface ReadableIssue {
  /** The keys on the way to the value; empty for the whole input. */
  readonly path: readonly string[]
  readonly message: string
}

const issueLimit = 50
const depthLimit = 64
const keyLimit = 200

/**
 * Makes the issues of a schema readable. Schemas may quote the input in their messages: values
 * under secret names, such as `password`, are masked.
 */
export function readIssues(issues: readonly SchemaIssue[], input: unknown): ReadableIssues {
  const maskMessage = createMessageMask(input)
  const listed = firstOf(issues, issueLimit).map(({ message, path = [] }) => {
    const keys = firstOf(path, depthLimit).map(toKey)
    return { path: keys, message: maskMessage(message, keys.some(isSecretName)) }
  })
  return { issues: listed, omitted: issues.length - listed.length }
}

/** ArkType has classes of arrays, whose methods return something else than arrays. */
function firstOf<item>(items: readonly item[], limit: number): item[] {
  const first: item[] = []
  for (const item of items) {
    if (first.length === limit) break
    first.push(item)
  }
  return first
}

function toKey(segment: PropertyKey | { readonly key: PropertyKey }): string {
  const key = String(typeof segment === 'object' ? segment.key : segment)
  return cut(key.toWellFormed(), keyLimit)
}

/** Writes a path as a JSON pointer in a fragment (RFC 6901, section 6): `#/items/0/price`. */
export function toPointer(path: readonly string[]): string {
  const keys = path.map(key => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')))
  return ['#', ...keys].join('/')
}

const textLimit = 3

/**
 * Writes the first issues as one line: `Too small (items.0.price); Too long (name); and 4 more`. A message that follows
 * `password:` would be masked as its value.
 */
export function describeIssues({ issues, omitted }: ReadableIssues): string {
  const texts = issues
    .slice(0, textLimit)
    .map(({ message, path }) => (path.length === 0 ? message : `${message} (${path.join('.')})`))
  const rest = issues.length + omitted - texts.length
  return [...texts, ...(rest === 0 ? [] : [`and ${rest} more`])].join('; ')
}

/** Masks the secrets of an input in a message about it. `isSecretValue`: the message is about a secret itself. */
type MessageMask = (message: string, isSecretValue: boolean) => string

/** Replaces a message that cannot be masked with certainty. */
export const hiddenMessage = 'The value is refused. The reason may contain a secret, and is not shown.'

const secretLimit = 1000
const messageLimit = 2000

/**
 * Creates the function that masks messages about an input: the values under secret names in the
 * input, wherever a message quotes them, and all that a message about a secret value has in
 * quotation marks. The result has at most 500 characters.
 */
export function createMessageMask(input: unknown): MessageMask {
  const secrets = new SecretFinder()
  secrets.add(input, false)
  return (message, isSecretValue) => {
    if (secrets.isFull) return hiddenMessage
    if (secrets.found.size === 0 && !isSecretValue) return finish(message)
    // Half a secret in a message that was cut would not be recognised.
    if (message.length > messageLimit) return hiddenMessage
    const hidden = hide(message, secrets.found)
    return finish(isSecretValue ? hidden.replace(quotation, `"${mask}"`) : hidden)
  }
}

/** A schema may have changed the text that it quotes. */
const quotation = /"(?:[^"\\]|\\.)*"/g

const resultLimit = 500

function finish(message: string): string {
  return cut(maskText(message.slice(0, messageLimit)).replaceAll(/\s+/g, ' '), resultLimit)
}

function hide(message: string, secrets: Iterable<string>): string {
  const lower = message.toLowerCase()
  const found = [...secrets].filter(secret => lower.includes(secret))
  // Longer ones first: one may contain another.
  const sorted = found.sort((a, b) => b.length - a.length)
  const hidden = sorted.reduce((text, secret) => text.replace(patternOf(secret), mask), message)
  // A case-insensitive pattern does not match the lower case of a few letters, so the rest is compared in lower case.
  const left = hidden.toLowerCase()
  return sorted.some(secret => secret.length >= shortest && left.includes(secret)) ? hiddenMessage : hidden
}

/**
 * A shorter secret counts as a whole word only: it would also mask parts of words. One of letters
 * counts in quotes only.
 */
const shortest = 4

function patternOf(secret: string): RegExp {
  const escaped = escapeRegExp(secret)
  if (secret.length >= shortest) return new RegExp(escaped, 'giu')
  const [before, after] = /^\p{L}+$/u.test(secret) ? [`(?<=["'])`, `(?=["'])`] : ['(?<![\\p{L}\\d])', '(?![\\p{L}\\d])']
  return new RegExp(`${before}${escaped}${after}`, 'giu')
}

const nameLimit = 5000

/** Collects the texts and numbers under secret names in an input, in lower case. */
class SecretFinder {
  readonly found: Set<string> = new Set<string>()
  /** Names are judged once: a list has the same names in each of its items. */
  readonly #names = new Map<string, boolean>()

  /** Whether there is too much to be certain. */
  get isFull(): boolean {
    return this.found.size > secretLimit || this.#names.size > nameLimit
  }

  /** The depth of an input is limited where it is parsed, as its size is: there is no other limit. */
  add(value: unknown, isSecret: boolean): void {
    if (typeof value === 'string' || typeof value === 'number') {
      if (isSecret) this.#addForms(String(value))
    } else if (Array.isArray(value)) {
      for (const item of value) this.add(item, isSecret)
    } else if (typeof value === 'object' && value !== null) this.#addProperties(value, isSecret)
  }

  #addProperties(object: object, isSecret: boolean): void {
    const named = secretsUnder(object, name => this.#isSecret(name))
    const names = { has: (name: string) => Object.hasOwn(object, name) }
    for (const name of Object.keys(object)) {
      if (this.isFull) return
      const value: unknown = Object.getOwnPropertyDescriptor(object, name)?.value
      this.add(value, isSecret || named.includes(name) || this.#isSecret(name) || isSecretBeside(name, names))
    }
  }

  #isSecret(name: string): boolean {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const isSecret = isSecretName(name)
    this.#names.set(name, isSecret)
    return isSecret
  }

  #addForms(secret: string): void {
    const text = secret.trim().toLowerCase()
    if (text === '' || this.isFull) return
    this.found.add(text)
    this.found.add(JSON.stringify(text).slice(1, -1))
  }
}
