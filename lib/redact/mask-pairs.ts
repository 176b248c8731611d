import { quoteAt } from './find-end.ts'
import { type FoundValue, findValue } from './find-value.ts'
import { namingKeys, valueKeys } from './named-value.ts'
import { readName } from './read-name.ts'
import type { NameTest } from './secret-names.ts'

/** `=`, `:`, `=>`, comparisons, and `=` as it stands in a URL within a query. */
const separators = /=>|(?:[:!]|\|\||&&|\?\??)?={1,3}|:{1,2}|%(?:25){0,4}3d/gi

/** What names something, and what its value stands under: `{"name":"password","value":"x"}`. */
const namingName = new RegExp(`^(?:${namingKeys.join('|')})$`, 'i')
const valueNames = `(?:${valueKeys.join('|')})`
const namedValue = new RegExp(`^${valueNames}$`, 'i')
const namedDistance = 300

/**
 * Masks the values of secret names: in queries, forms, headers, JSON, what `util.inspect` and other languages write, YAML,
 * INI, assignments. By hand, because a regular expression would try every start of every name; each character is looked at
 * a bounded number of times.
 */
export function maskPairs(text: string, isSecret: NameTest): string {
  let masked = ''
  let done = 0
  let after = 0
  /** The place of a pair that gives a secret name (`"name":"password"`); its value is still to come. */
  let named: number | undefined
  /** A value whose name is still to come. */
  let unnamed: FoundValue | undefined
  const write = ({ end, mask, start }: FoundValue) => {
    masked += text.slice(done, start) + mask
    done = end
    unnamed = undefined
    named = undefined
  }
  for (const { 0: separator, index } of text.matchAll(separators)) {
    const from = Math.max(after, done)
    after = index + separator.length
    if (index < done || separator === '::') continue
    const name = readName(text, from, index)
    if (name === undefined) continue
    const isNaming = namingName.test(name.text)
    if (isSecret(name.text) && !(isNaming && namesNext(text, after))) {
      const value = findValue(text, name, separator, after)
      if (value !== undefined) write(value)
    } else if (isNaming) {
      if (!isSecret(readQuoted(text, after))) continue
      if (unnamed !== undefined && isSameThing(text, unnamed.start, index)) write(unnamed)
      else named = index
    } else if (namedValue.test(name.text)) {
      const isNamed = named !== undefined && isSameThing(text, named, index)
      const value = findValue(isNamed ? text : text.slice(0, after + namedDistance), name, separator, after)
      if (isNamed && value !== undefined) write(value)
      else unnamed = value
    }
  }
  return masked + text.slice(done)
}

/** Whether one stands beside the other, in the same braces or the same tag. */
function isSameThing(text: string, from: number, to: number): boolean {
  return to - from < namedDistance && !/[{}<>]/.test(text.slice(from, to))
}

/** Whether a value follows what is a name by itself: `"key":"apiKey","value":`. */
function namesNext(text: string, from: number): boolean {
  return nextValue.test(text.slice(from, from + namedDistance))
}

const nextValue = new RegExp(
  /^\s?\\{0,9}(["'])[^"'`\\]{0,100}\\{0,9}\1\s{0,9},?\s{0,9}\\{0,9}["']?/.source +
    valueNames +
    /\\{0,9}["']?\s?[:=]/.source,
  'i',
)

/** A short text in quotes; empty when there is none. */
function readQuoted(text: string, from: number): string {
  const start = text.charAt(from) === ' ' ? from + 1 : from
  const quote = quoteAt(text, start)
  if (quote === '') return ''
  const quoted = text.slice(start + quote.length, start + quote.length + 100)
  return quoted.slice(0, quoted.search(/["'`\\]|$/))
}
