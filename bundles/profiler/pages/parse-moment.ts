/** Which end of the time that a text stands for is meant: `2026-11-20` begins at midnight and ends before the next. */
export type Edge = 'first' | 'last'

/**
 * Reads a moment, as milliseconds since 1970: seconds since then, or an ISO date, which may go on with a time to the
 * minute, second or millisecond, and an offset. UTC unless it says else. `undefined` when it is nothing of the kind.
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
  // Date takes the 30th of February for a day in March.
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
