/** A moment, for a `<time>`: for programs, and for people in UTC. */
export interface FormattedTime {
  readonly iso: string
  readonly day: string
  readonly clock: string
  /** Of the second: `.042`. */
  readonly fraction: string
}

// Made once: `toLocaleDateString` makes another one for each date, which costs as much as a row of the list.
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

/** Writes a moment in milliseconds since 1970. */
export function formatTime(time: number): FormattedTime {
  const date = new Date(time)
  const iso = date.toISOString()
  return { iso, day: days.format(date), clock: iso.slice(-13, -5), fraction: iso.slice(-5, -1) }
}
