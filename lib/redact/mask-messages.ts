import { escapeRegExp } from '../text/escape-reg-exp.ts'
import { maskText } from './mask-text.ts'
import { isSecretCode, isSecretName, mask, type NameTest, secretUnder } from './secret-names.ts'

/** Masks the secrets of an input in a message about it. `isSecretValue`: the message is about a secret itself. */
export type MessageMask = (message: string, isSecretValue: boolean) => string

/** Replaces a message that cannot be masked with certainty. */
export const hiddenMessage = 'The value is refused. The reason may contain a secret, and is not shown.'

const secretLimit = 5000
const messageLimit = 2000

/**
 * Creates the function that masks messages about an input: the values under secret names in the input, wherever a message
 * quotes them, and all that a message about a secret value has in quotation marks. The result has at most 500 characters.
 */
export function createMessageMask(input: unknown, isSecret: NameTest = isSecretName): MessageMask {
  const secrets = new Set<string>()
  collectSecrets(input, isSecret, secrets)
  return (message, isSecretValue) => {
    if (secrets.size === 0 && !isSecretValue) return finish(message)
    // Half a secret in a message that was cut, or one of very many secrets, would not be recognised.
    if (message.length > messageLimit || secrets.size > secretLimit) return hiddenMessage
    const hidden = hide(message, secrets)
    return finish(isSecretValue ? hidden.replace(quotation, `"${mask}"`) : hidden)
  }
}

/** A schema may have changed the text that it quotes. */
const quotation = /"(?:[^"\\]|\\.)*"/g

const resultLimit = 500

function finish(message: string): string {
  const masked = maskText(message.slice(0, messageLimit)).replaceAll(/\s+/g, ' ')
  return masked.length > resultLimit ? `${masked.slice(0, resultLimit - 1).toWellFormed()}…` : masked
}

function hide(message: string, secrets: Iterable<string>): string {
  const lower = message.toLowerCase()
  const found = [...secrets].filter(secret => lower.includes(secret))
  // Longer ones first: one may contain another.
  const sorted = found.sort((a, b) => b.length - a.length)
  const hidden = sorted.reduce((text, secret) => text.replace(patternOf(secret), mask), message)
  // The lower case of a few letters is not what a pattern without case matches.
  const left = hidden.toLowerCase()
  return sorted.some(secret => secret.length >= shortest && left.includes(secret)) ? hiddenMessage : hidden
}

/** A shorter secret counts as a whole word only: it would also mask parts of words. */
const shortest = 4

function patternOf(secret: string): RegExp {
  const escaped = escapeRegExp(secret)
  return new RegExp(secret.length < shortest ? `(?<![\\p{L}\\d])${escaped}(?![\\p{L}\\d])` : escaped, 'giu')
}

interface Node {
  readonly value: unknown
  readonly isSecret: boolean
}

/**
 * Adds the texts and numbers under secret names, in lower case. The input has the size of a body that was accepted, so its
 * size needs no other limit. No getter is called.
 */
function collectSecrets(input: unknown, isSecret: NameTest, secrets: Set<string>): void {
  const rest: Node[] = [{ value: input, isSecret: false }]
  for (let node = rest.pop(); node !== undefined && secrets.size <= secretLimit; node = rest.pop()) {
    const { value } = node
    if (typeof value === 'object' && value !== null) {
      const named = secretUnder(value, isSecret)
      const names = { has: (name: string) => Object.hasOwn(value, name) }
      for (const [name, { value: own }] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
        const isMeant = name === named || isSecret(name) || isSecretCode(name, names)
        rest.push({ value: own, isSecret: node.isSecret || isMeant })
      }
    } else if (node.isSecret && (typeof value === 'string' || typeof value === 'number'))
      addForms(String(value), secrets)
  }
}

function addForms(secret: string, secrets: Set<string>): void {
  const text = secret.trim().toLowerCase()
  if (text === '') return
  secrets.add(text)
  secrets.add(JSON.stringify(text).slice(1, -1))
}
