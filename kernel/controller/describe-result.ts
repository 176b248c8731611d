import { inspect } from 'node:util'

/** Names what a controller returned instead of a response: `an object ({ a: 1 })`. */
export function describeResult(result: unknown): string {
  if (result === undefined) return 'nothing: did you forget a "return" somewhere in your controller?'
  if (result === null) return 'null'
  const kind = Array.isArray(result) ? 'array' : typeof result
  const article = /^[aeiou]/.test(kind) ? 'an' : 'a'
  const options = { depth: 1, maxArrayLength: 5, maxStringLength: 100, breakLength: Number.POSITIVE_INFINITY }
  return `${article} ${kind} (${inspect(result, options)})`
}
