const keyLimit = 10
const lengthLimit = 40

/**
 * Names what a controller returned instead of a response: `an object with the keys "id", "name"`. Of its values nothing is
 * told, as the message stands on error pages and in logs, and they may be secrets.
 */
export function describeResult(result: unknown): string {
  if (result === undefined) return 'nothing: did you forget a "return" somewhere in your controller?'
  if (result === null) return 'null'
  if (typeof result === 'string') return `a string of ${count(result.length, 'character')}`
  if (Array.isArray(result)) return `an array of ${count(result.length, 'item')}`
  if (typeof result !== 'object') return `a ${typeof result}`
  return describeObject(result)
}

function describeObject(result: object): string {
  try {
    const prototype: unknown = Object.getPrototypeOf(result)
    const isPlain = prototype === null || prototype === Object.prototype
    const name: unknown = isPlain ? '' : result.constructor?.name
    if (typeof name === 'string' && name !== '') return `an object of the class ${name.slice(0, lengthLimit)}`
    const keys = Object.keys(result)
    if (keys.length === 0) return 'an object without keys'
    const told = keys.slice(0, keyLimit).map(key => JSON.stringify(key.slice(0, lengthLimit)))
    const more = keys.length > keyLimit ? `, and ${keys.length - keyLimit} more` : ''
    return `an object with the ${keys.length === 1 ? 'key' : 'keys'} ${told.join(', ')}${more}`
  } catch {
    // A proxy may throw.
    return 'an object'
  }
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
