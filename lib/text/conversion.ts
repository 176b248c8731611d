import { ARGUMENT_INVALID, checkString } from '../errors/arguments.ts'
import { describeValue } from './describe-value.ts'
import { kinds } from './mistakes.ts'

/**
 * Converts text to a value, for parameters of routes, queries and settings; `undefined` if that is
 * impossible. `expected` completes the sentence "it must be …".
 */
export interface Conversion<value> {
  /** Completes the sentence "it must be …", such as `an integer`. */
  readonly expected: string
  /** The conversion of one entry, if the text is a list. */
  readonly entry?: Conversion<unknown>
  /** The value of a text; `undefined` if the text is wrong. */
  convert(text: string): value | undefined
}

/**
 * The mistake in a value that stands for a missing text, as the end of a sentence: it is another
 * type than `convert` gives, such as the text `'5'` for {@link asInteger}.
 */
export function findStandInMistake(value: unknown, convert: (text: string) => unknown): string | undefined {
  if (typeof value === 'function') return `is ${describeValue(value)}, which is not called: write its value`
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  const converted = convert(String(value))
  if (converted === undefined || Number.isNaN(converted) || typeof converted === typeof value) return undefined
  return `is ${describeValue(value)}, but the conversion gives ${describeValue(converted)}`
}

/** Keeps text as it is. */
export const asText: Conversion<string> = { expected: 'text', convert: text => text }

/**
 * An integer with these bounds: `asIntegerFrom(1, 100)`. The ids of a column of the type `bigint` are `asIntegerFrom(1,
 * Number.MAX_SAFE_INTEGER)`. @throws ARGUMENT_INVALID
 */
export function asIntegerFrom(least: number, most: number): Conversion<number> {
  if (!Number.isSafeInteger(least) || !Number.isSafeInteger(most) || least > most) {
    throw new ARGUMENT_INVALID(['asIntegerFrom(1, 100)', 'the bounds are two safe integers, the smaller one first'])
  }
  return {
    expected: `an integer from ${least} to ${most}`,
    convert(text) {
      // The sum is 0 for -0.
      const number = /^-?\d+$/.test(text) ? Number(text) + 0 : Number.NaN
      return number >= least && number <= most ? number : undefined
    },
  }
}

/**
 * An integer of 32 bits, as columns of the type `integer` have them: a database refuses others,
 * and the answer would be 500.
 */
export const asInteger: Conversion<number> = {
  ...asIntegerFrom(-(2 ** 31), 2 ** 31 - 1),
  expected: 'an integer of 32 bits',
}

/** An id, such as a column of the type `integer` counts it: from 1 to 2147483647. */
export const asId: Conversion<number> = asIntegerFrom(1, 2 ** 31 - 1)

/** A UUID of any version (RFC 9562), in lower case, as databases write it. */
export const asUuid: Conversion<string> = {
  expected: 'a UUID such as 018f4e2a-7d3c-7b1e-9f00-5a1d2c3b4e5f',
  convert: text => (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) ? text.toLowerCase() : undefined),
}

/** A share: a number from 0 to 1. */
export const asRatio: Conversion<number> = {
  expected: 'a number from 0 to 1',
  convert: text => (/^(?:0|1|0?\.\d+|1\.0+|0\.0+)$/.test(text) ? Number(text) : undefined),
}

/** Milliseconds that a timer of Node takes. */
export const asMilliseconds: Conversion<number> = asIntegerFrom(1, 2 ** 31 - 1)

const flags: ReadonlyMap<string, boolean> = new Map([
  ...['1', 'true', 'yes', 'on'].map(word => [word, true] as const),
  ...['0', 'false', 'no', 'off'].map(word => [word, false] as const),
])

/** Yes or no: `1`, `true`, `yes`, `on`, or `0`, `false`, `no`, `off`, in lower case or in capitals. */
export const asFlag: Conversion<boolean> = {
  expected: 'a flag: 1, true, yes, on, or 0, false, no, off',
  convert: text => flags.get(text.toLowerCase()),
}

/** The text of an absolute URL, also with a scheme of its own: `https://example.org`, `null://null`. */
export const asUrl: Conversion<string> = {
  expected: 'a URL such as https://example.org',
  convert: text => (/^[a-z][a-z\d+.-]*:\/\/./i.test(text) && URL.canParse(text) ? text : undefined),
}

const dateForm = /^(\d{4}-\d\d-\d\d)(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-][01]\d:[0-5]\d))?$/

/** A day, which is its midnight in UTC, or a time with its offset from UTC (RFC 3339). */
export const asDate: Conversion<Date> = {
  expected: 'a date such as 2026-11-22 or 2026-11-22T09:30:00Z',
  convert(text) {
    const day = dateForm.exec(text)?.[1]
    // JavaScript takes the 30th of February for a day in March.
    return day !== undefined && isDay(day) ? new Date(text) : undefined
  },
}

function isDay(day: string): boolean {
  const midnight = new Date(day)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day)
}

/** Why a value is no conversion; `undefined` for a conversion. It may have keys of its own. */
export function findConversionMistake(value: unknown): string | undefined {
  const { convert, expected } = Object(value) as Partial<Conversion<unknown>>
  if (typeof convert !== 'function')
    return `a conversion, such as asInteger, has a method convert(), and this is ${describeValue(value)}`
  if (typeof expected !== 'string')
    return `"expected" of a conversion must be a string such as 'an integer', not ${describeValue(expected)}`
  return kinds['sync function'][0](convert) ? undefined : 'convert() of a conversion must be a function without async'
}

/** One of these texts, exactly: `asOneOf('small', 'large')`. */
export function asOneOf<const choice extends string>(...choices: readonly choice[]): Conversion<choice> {
  for (const choice of choices) checkString("asOneOf('small', 'large')", 'each choice', choice)
  return {
    expected: `one of ${choices.join(', ')}`,
    convert: text => choices.find(choice => choice === text),
  }
}

/**
 * A list that is separated by commas: `asListOf(asInteger)`. Blanks around an entry, and empty entries, do not count.
 */
export function asListOf<value>(entry: Conversion<value>): Conversion<readonly value[]> {
  const mistake = findConversionMistake(entry)
  if (mistake !== undefined) throw new ARGUMENT_INVALID(['asListOf(asInteger)', mistake])
  return {
    expected: `a list with commas, each entry ${entry.expected}`,
    entry,
    convert(text) {
      const values = splitList(text).map(each => entry.convert(each))
      const converted = values.filter(value => value !== undefined)
      return converted.length === values.length ? Object.freeze(converted) : undefined
    },
  }
}

/** The entries of a text that {@link asListOf} converts. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
}

/** Whether a text is the URL of a Redis. Its path is the number of a database. */
export function isRedisUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^rediss?:$/.test(url.protocol) && url.hostname !== '' && /^\/?\d*$/.test(url.pathname)
}

/** The URL of a Redis, for settings. */
export const asRedisUrl: Conversion<string> = {
  expected: 'a URL such as redis://host:6379 or redis://host:6379/1',
  convert: text => (isRedisUrl(text) ? text : undefined),
}
