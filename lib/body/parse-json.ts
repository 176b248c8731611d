import { BODY_JSON_INVALID } from './errors.ts'

/**
 * Parses JSON of a client. Besides bad syntax it refuses nesting deeper than `maxDepth`, and keys that would change a
 * prototype if the value were merged into another object (`__proto__`, `constructor` with a `prototype` in it).
 * @throws BODY_JSON_INVALID (400)
 */
export function parseJson(text: string, maxDepth: number): unknown {
  if (text === '') throw new BODY_JSON_INVALID(['it is empty'])
  if (isDeeper(text, maxDepth)) throw new BODY_JSON_INVALID([`it is nested deeper than ${maxDepth} levels`])
  try {
    // A reviver makes parsing several times slower, and few bodies need one.
    const isSuspicious = suspicious.some(part => text.includes(part))
    return isSuspicious ? JSON.parse(text, refusePrototypeKeys) : JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw new BODY_JSON_INVALID([describe(error)])
    throw error
  }
}

/** A key may be escaped: `"\u005f_proto__"`. Three searches take a tenth of the time of a pattern. */
const suspicious = ['__proto__', '"constructor"', '\\u']

function refusePrototypeKeys(key: string, value: unknown): unknown {
  const isConstructor = key === 'constructor' && typeof value === 'object' && value !== null
  if (key === '__proto__' || (isConstructor && Object.hasOwn(value, 'prototype'))) {
    throw new BODY_JSON_INVALID([`the key "${key}" is not accepted`])
  }
  return value
}

/** The message of the parser without quotes from the body, which may contain secrets. */
function describe(error: SyntaxError): string {
  const harmless = /^(?:Unexpected token '.'|Unexpected end of JSON input|[\w ,'{}[\]:-]+ at position \d+)/su
  return harmless.exec(error.message)?.[0] ?? 'its syntax is wrong'
}

const quote = 0x22
const backslash = 0x5c

/** Whether a text is nested deeper than a limit. Most have fewer brackets in all, which is quicker to find out. */
function isDeeper(text: string, limit: number): boolean {
  return hasMoreBrackets(text, limit) && measureJsonDepth(text) > limit
}

/** Whether a text has more opening brackets than a limit, in strings or not. */
function hasMoreBrackets(text: string, limit: number): boolean {
  let count = 0
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > limit) return true
    }
  }
  return false
}

/**
 * Measures how deep the arrays and objects of a JSON text are nested, without parsing it: `1` has
 * depth 0, `[{}]` depth 2. The result has no meaning for a text that is not JSON.
 */
export function measureJsonDepth(text: string): number {
  let depth = 0
  let deepest = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) index = findStringEnd(text, index)
    else if (code === 0x5b || code === 0x7b) {
      depth++
      if (depth > deepest) deepest = depth
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return deepest
}

/**
 * The index of the quote that closes a string: the number of backslashes before it is even. The last index without one.
 */
function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (before > start && text.charCodeAt(before) === backslash) before--
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}
