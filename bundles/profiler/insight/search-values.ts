/** The first and the last value of a range; `undefined` where it has no bound. */
export type Range = readonly [first: number | undefined, last: number | undefined]

/**
 * Parses a range of whole numbers to its first and last number: `10`, `10..`, `..20`, `5..20`. Returns `undefined` for any
 * other text.
 */
export function parseCountRange(text: string): Range | undefined {
  const [, first = '', dots = '', last = ''] = /^(\d{0,9})(?:(\.\.)(\d{0,9}))?$/.exec(text) ?? []
  if (first === '' && last === '') return undefined
  const toNumber = (digits: string) => (digits === '' ? undefined : Number(digits))
  return [toNumber(first), toNumber(dots === '' ? first : last)]
}

/** The sentence about a text that is no range of numbers. */
export const rangeHint = 'a number such as 10, or a range such as 10.. or 5..20'

/**
 * Parses a status: `4xx` and `500..599` to the first and last status, and `0` to that of requests without a response; any
 * other number is a part of the status in decimal digits, such as `404` or `40`. Returns `undefined` for any other text.
 */
export function parseStatus(text: string): Range | string | undefined {
  const [, digit] = /^([1-5])xx$/i.exec(text) ?? []
  if (digit !== undefined) return [Number(digit) * 100, Number(digit) * 100 + 99]
  if (/^\d{1,3}$/.test(text) && text !== '0') return text
  return /^(?:0|(?:\d{3})?\.\.(?:\d{3})?)$/.test(text) ? parseCountRange(text) : undefined
}

/** The sentence about a text that is no status. */
export const statusHint =
  'a status such as 404, a part of one such as 40, a class such as 4xx, or a range such as 500..599'

/** The edge of a time span: `2026-11-20` starts at midnight and ends before the next midnight. */
export type Edge = 'first' | 'last'

/**
 * Parses a moment to milliseconds since 1970. The text is a number of seconds since 1970, or an ISO date, optionally
 * with a time to the minute, second or millisecond, and an offset. The time zone is UTC by default. Returns `undefined`
 * for any other text.
 */
export function parseMoment(text: string, edge: Edge): number | undefined {
  const parsed = /^-?\d{1,12}$/.test(text) ? { time: Number(text) * 1000, span: second } : parseIsoDate(text)
  return parsed && (edge === 'first' ? parsed.time : parsed.time + parsed.span - 1)
}

const second = 1000
const minute = 60 * second
const day = 24 * 60 * minute

const isoDate = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(\.\d{1,3})?(Z|[+-]\d{2}:?\d{2})?)?$/i

function parseIsoDate(text: string): { time: number; span: number } | undefined {
  const [, date = '', clock, seconds = '', fraction = '', offset = 'Z'] = isoDate.exec(text) ?? []
  // Date parses the 30th of February as a day in March.
  if (!isDate(date)) return undefined
  const time = Date.parse(`${date}T${clock ?? '00:00'}${seconds}${fraction}${withColon(offset)}`)
  if (Number.isNaN(time)) return undefined
  if (clock === undefined) return { time, span: day }
  return { time, span: fraction !== '' ? 1 : seconds !== '' ? second : minute }
}

function isDate(date: string): boolean {
  const time = Date.parse(`${date}T00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date)
}

function withColon(offset: string): string {
  return offset.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
}
