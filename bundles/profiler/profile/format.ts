import type { Caller } from '../../../lib/stack/callers.ts'

/** Writes a whole number for people: `12,345`. What `toLocaleString` does costs a hundredth of a second the first time. */
export function formatNumber(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Writes how many there are of something: `1 error`, `1,200 errors`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`
}

/** Begins a text with a capital letter. */
export function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

/** Writes a number of bytes for people, in the units of 1024: `512 B`, `4.2 KiB`, `-1.5 MiB`. */
export function formatBytes(bytes: number): string {
  const size = Math.abs(bytes)
  if (size < 1024) return `${bytes} B`
  if (size < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`
  if (size < 1024 ** 3) return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`
}

/** Writes milliseconds for people: `0.042 ms`, `12.3 ms`, `1.25 s`. */
export function formatDuration(milliseconds: number): string {
  const size = Math.abs(milliseconds)
  if (size < 10) return `${milliseconds.toFixed(3)} ms`
  if (size < 1000) return `${milliseconds.toFixed(1)} ms`
  return `${(milliseconds / 1000).toFixed(2)} s`
}

/** Writes microseconds as milliseconds or seconds: `0.012 ms`. */
export function formatMicroseconds(microseconds: number): string {
  return formatDuration(microseconds / 1000)
}

const periods = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** Writes a period of at least a second, given in seconds, in at most two units: `1 day`, `1 hour 30 minutes`. */
export function formatPeriod(seconds: number): string {
  let rest = Math.max(1, Math.round(seconds))
  const parts = periods.flatMap(([name, length]) => {
    const count = Math.floor(rest / length)
    rest -= count * length
    return count === 0 ? [] : [formatCount(count, name)]
  })
  return parts.slice(0, 2).join(' ')
}

/** Writes a part of a whole in percent: `12.5 %`; of nothing it is `0.0 %`. */
export function formatShare(part: number, whole: number): string {
  return `${(whole > 0 ? (part / whole) * 100 : 0).toFixed(1)} %`
}

/** A moment, for a `<time>`: for programs, and for people in UTC. */
export interface FormattedTime {
  readonly iso: string
  readonly day: string
  readonly clock: string
  /** The fraction of the second: `.042`. */
  readonly fraction: string
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Writes a moment in milliseconds since 1970. */
export function formatTime(time: number): FormattedTime {
  const date = new Date(time)
  const iso = date.toISOString()
  const day = `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`
  return { iso, day, clock: iso.slice(-13, -5), fraction: iso.slice(-5, -1) }
}

/** Cuts a text to a number of characters, with an ellipsis. Half of a surrogate pair at the cut is replaced. */
export function shorten(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}…`
}

/** Writes a text in one line. */
export function toOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** Writes an address as a server sees it: its path and query. */
export function toTarget(url: string): string {
  return url.replace(/^https?:\/\/[^/]*(?=\/)/, '')
}

/** Rounds milliseconds to a microsecond: no clock here is better, and a profile is shorter for it. */
export function roundTime(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}

/** Writes a place in the source: `blog/list.ts:24`; empty if it is not known. */
export function formatPlace({ file, line }: Pick<Caller, 'file' | 'line'>): string {
  if (file === undefined) return ''
  return line === undefined ? file : `${file}:${line}`
}

/** Characters that stay encoded: they are invisible, change the direction of the text, or have a meaning in a URL. */
const unreadable = /[\p{C}\p{Z}%;/?:@&=+$,#]/u

/**
 * Decodes a URL for people: `/日本` instead of `/%E6%97%A5%E6%9C%AC`. Sequences that are no text, invisible characters, and
 * those with a meaning in a URL stay encoded. The result is for reading only.
 */
export function toReadableUrl(url: string): string {
  if (!url.includes('%')) return url
  return url.replace(/(?:%[0-9a-f]{2})+/gi, sequence => {
    try {
      return Array.from(decodeURIComponent(sequence), each =>
        unreadable.test(each) ? encodeURIComponent(each) : each,
      ).join('')
    } catch {
      return sequence
    }
  })
}
