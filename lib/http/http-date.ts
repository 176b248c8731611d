/**
 * Parses a date of a header: milliseconds since 1970. Only the three forms of RFC 9110, section 5.6.7,
 * are dates, in exactly this spelling: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`
 * and `Sun Nov  6 08:49:37 1994`. The day exists, and a short weekday is that of the day (RFC 5322,
 * section 3.3). Any other text is `NaN`, which is neither before nor after any time.
 *
 * A year of two digits is the latest one that is at most 50 years after `now`.
 */
export function parseHttpDate(text: string, now: number = Date.now()): number {
  // A leap second has no number of its own.
  const fixed = toFixedForm(text, now).replace(' 23:59:60 GMT', ' 23:59:59 GMT')
  const date = new Date(fixed)
  // The year 1, with which some programs write a date that is not set, would be 2001.
  date.setUTCFullYear(Number(fixed.slice(12, 16)))
  // A `Date` reads much more than these forms: what it has read is written again, and compared.
  return date.toUTCString() === fixed ? date.getTime() : Number.NaN
}

const shortYearForm = /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\d\d)-([A-Z][a-z]{2})-(\d\d) (\d\d:\d\d:\d\d) GMT$/
const zonelessForm = /^([A-Z][a-z]{2}) ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})$/

/** Rewrites the two obsolete forms as the first one. Any other text stays as it is. */
function toFixedForm(text: string, now: number): string {
  const [, weekday, month, day = '', clock, year] = zonelessForm.exec(text) ?? []
  if (weekday !== undefined) return `${weekday}, ${day.replace(' ', '0')} ${month} ${year} ${clock} GMT`
  const [, date, name, digits, time] = shortYearForm.exec(text) ?? []
  if (date === undefined) return text
  const latest = new Date(now)
  latest.setUTCFullYear(latest.getUTCFullYear() + 50)
  const lastYear = latest.getUTCFullYear()
  const fullYear = lastYear - ((lastYear - Number(digits)) % 100)
  const [later, earlier] = [fullYear, fullYear - 100].map(year => `${date} ${name} ${year} ${time} GMT`)
  const chosen = Date.parse(String(later)) > latest.getTime() ? earlier : later
  // The century of the sender is not known, so its weekday is not compared.
  return `${new Date(String(chosen)).toUTCString().slice(0, 5)}${chosen}`
}
