import type { Occurrences } from '../../insight/relatives.ts'
import { type FormattedTime, formatCount, formatTime } from '../../profile/format.ts'
import { listLink, profileLink } from '../../profile/links.ts'

/** The content of the template `profiler/occurrences`. */
export interface OccurrencesView {
  readonly fingerprint: string
  /** `12 other requests`; empty when there are none. */
  readonly count: string
  /** The list of all requests with the error. */
  readonly link: string
  readonly first: FormattedTime | false
  readonly last: FormattedTime | false
  /** `2 routes`; empty for one. */
  readonly routes: string
  readonly latest: readonly { readonly token: string; readonly link: string }[]
}

/** Creates the view of the other requests with an error; `false` for an error without a fingerprint. */
export function viewOccurrences(found: Occurrences | undefined): OccurrencesView | false {
  if (found === undefined) return false
  const { count, fingerprint, first, hasMore, last, latest, routes } = found
  const others = formatCount(count, 'other request')
  return {
    fingerprint,
    count: count === 0 ? '' : hasMore ? `more than ${others}` : others,
    link: listLink({ error: fingerprint, limit: '50' }),
    first: first !== undefined && formatTime(first),
    last: last !== undefined && formatTime(last),
    routes: routes < 2 ? '' : formatCount(routes, 'route'),
    latest: latest.map(({ token }) => ({ token, link: profileLink(token, 'exception') })),
  }
}

/** Writes the view as a sentence. */
export function describeOccurrences({ count, fingerprint, first, last, routes }: OccurrencesView): string {
  if (first === false || last === false) return `No other stored request has this error (${fingerprint}).`
  const on = routes === '' ? '' : `, on ${routes}`
  return `Seen in ${count} (${fingerprint}): first ${first.iso}, last ${last.iso}${on}.`
}
