/** A moment, for a `<time>`: for programs, and for people in UTC. */
export interface FormattedTime {
  readonly iso: string
  readonly day: string
  readonly clock: string
  /** Of the second: `.042`. */
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
