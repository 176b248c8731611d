/** Writes milliseconds with three digits: `0.42 ms`, `13.7 ms`, `1.52 s`. */
export function formatDuration(milliseconds: number): string {
  return milliseconds < 999.5 ? `${threeDigits(milliseconds)} ms` : `${threeDigits(milliseconds / 1000)} s`
}

/** Writes an amount of bytes with two or three digits: `820 B`, `3.4 MB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB']
  let amount = bytes
  let unit = 0
  while (amount >= 999.5 && unit < units.length - 1) {
    amount /= 1000
    unit++
  }
  return `${unit > 0 && amount < 9.95 ? amount.toFixed(1) : amount.toFixed(0)} ${units[unit]}`
}

/** Writes how many there are of something: `1 error`, `1,200 errors`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

/** A moment, for a `<time>`: for programs, and for people in UTC. */
export interface FormattedTime {
  readonly iso: string
  readonly day: string
  readonly clock: string
  /** Of the second: `.042`. */
  readonly fraction: string
}

/** Writes a moment in milliseconds since 1970. */
export function formatTime(time: number): FormattedTime {
  const date = new Date(time)
  const iso = date.toISOString()
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
  return { iso, day, clock: iso.slice(-13, -5), fraction: iso.slice(-5, -1) }
}

function threeDigits(value: number): string {
  if (value < 9.995) return value.toFixed(2)
  return value < 99.95 ? value.toFixed(1) : value.toFixed(0)
}
