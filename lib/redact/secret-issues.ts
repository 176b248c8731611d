import { mask, type NameTest } from './secret-names.ts'

/** What an issue says of the schema, and not of the input. All other values of an issue with a secret path are masked. */
const harmless: ReadonlySet<string> = new Set(
  (
    'code exact expected format inclusive instancePath keyword kind maximum message minimum origin params path pattern requirement ' +
    'schemaPath type validation'
  ).split(' '),
)

const segmentLimit = 100
const inputLimit = 100
const depthLimit = 4

/**
 * Masks what an issue of a validator says about a secret: `input` and `received` of an issue with the path
 * `['user', 'password']`, and these values in its message. Returns any other object as it is. Understands Standard Schema
 * (zod, valibot, joi), JSON Schema (ajv) and mongoose. Calls no getter.
 */
export function maskIssue(value: object, isSecret: NameTest): object {
  const path = pathOf(value)
  if (!path.some(segment => typeof segment === 'string' && isSecret(segment))) return value
  const inputs = new Inputs()
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(value)) {
    const own = read(value, name)
    if (!harmless.has(name)) inputs.add(own)
    copy[name] = harmless.has(name) || own === '' || own === undefined ? own : mask
  }
  // An entry of a path may hold the whole input.
  if (Array.isArray(copy.path)) copy.path = path
  if (typeof copy.message === 'string') copy.message = inputs.hideIn(copy.message)
  return copy
}

/** Masks some values in a text, such as the message of an error. */
export function hideInputs(text: string, values: readonly unknown[]): string {
  const inputs = new Inputs()
  for (const value of values) inputs.add(value)
  return inputs.hideIn(text)
}

/** Masks in a text, such as the message of an error, the secret inputs that its issues contain. */
export function maskInputs(text: string, issues: readonly unknown[], isSecret: NameTest): string {
  const inputs = new Inputs()
  for (const issue of issues) {
    if (typeof issue !== 'object' || issue === null) continue
    const path = pathOf(issue)
    if (!path.some(segment => typeof segment === 'string' && isSecret(segment))) continue
    for (const name of Object.keys(issue)) if (!harmless.has(name)) inputs.add(read(issue, name))
  }
  return inputs.hideIn(text)
}

/** The names on the way to the value of an issue; empty for an object that is no issue. */
function pathOf(value: object): readonly unknown[] {
  const path = read(value, 'path')
  const pointer = read(value, 'instancePath')
  if (typeof read(value, 'message') !== 'string') return []
  if (Array.isArray(path)) return path.slice(0, segmentLimit).map(toKey)
  if (typeof pointer === 'string') return pointer.split('/', segmentLimit)
  // A `path` alone may be that of a request.
  const isIssue = typeof path === 'string' && Object.hasOwn(value, 'kind') && Object.hasOwn(value, 'value')
  return isIssue ? path.split('.', segmentLimit) : []
}

function toKey(segment: unknown): unknown {
  return typeof segment === 'object' && segment !== null ? read(segment, 'key') : segment
}

function read(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value
}

/** The secret inputs of issues, as they may occur in messages. */
class Inputs {
  readonly #texts = new Set<string>()

  /** Adds a value, and the values in it. */
  add(value: unknown, depth = depthLimit): void {
    if (this.#texts.size >= inputLimit) return
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
      this.#addText(String(value))
    else if (typeof value === 'object' && value !== null && depth > 0) {
      for (const name of Object.keys(value).slice(0, inputLimit)) this.add(read(value, name), depth - 1)
    }
  }

  #addText(text: string): void {
    if (text === '' || text === mask) return
    this.#texts.add(JSON.stringify(text))
    // A short text would also mask parts of words.
    if (text.length >= 4) this.#texts.add(text)
  }

  hideIn(text: string): string {
    // Longer ones first: one may contain another.
    const texts = [...this.#texts].sort((a, b) => b.length - a.length)
    return texts.reduce((left, input) => left.replaceAll(input, input.startsWith('"') ? `"${mask}"` : mask), text)
  }
}
