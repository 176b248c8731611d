import { escapeRegExp } from '../text/escape-reg-exp.ts'
import { maskText } from './mask-text.ts'
import { cut } from './masking-copier.ts'
import { isSecretCode, isSecretName, mask, secretUnder } from './secret-names.ts'

/** Masks the secrets of an input in a message about it. `isSecretValue`: the message is about a secret itself. */
export type MessageMask = (message: string, isSecretValue: boolean) => string

/** Replaces a message that cannot be masked with certainty. */
export const hiddenMessage = 'The value is refused. The reason may contain a secret, and is not shown.'

const secretLimit = 1000
const messageLimit = 2000

/**
 * Creates the function that masks messages about an input: the values under secret names in the input, wherever a message
 * quotes them, and all that a message about a secret value has in quotation marks. The result has at most 500 characters.
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

/** A shorter secret counts as a whole word only: it would also mask parts of words. One of letters counts in quotes only. */
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
    const named = secretUnder(object, name => this.#isSecret(name))
    const names = { has: (name: string) => Object.hasOwn(object, name) }
    for (const name of Object.keys(object)) {
      if (this.isFull) return
      const value: unknown = Object.getOwnPropertyDescriptor(object, name)?.value
      this.add(value, isSecret || name === named || this.#isSecret(name) || isSecretCode(name, names))
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
