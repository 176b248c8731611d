import { statusText } from '../../../lib/http/response.ts'
import {
  type FormattedTime,
  formatBytes,
  formatCount,
  formatDuration,
  formatTime,
  toTarget,
} from '../profile/format.ts'
import { listLink, recordLink } from '../profile/links.ts'
import type { Outcome, ProfileSummary } from '../profile/profile.ts'
import { isBrowserProbe } from './latest.ts'

/** How much something wants to be looked at. */
export type Tone = 'plain' | 'ok' | 'warning' | 'error'

/** A word or a count beside the name of something. */
export interface Badge {
  readonly text: string
  readonly tone: Tone
}

/** A summary as templates show it: texts, and links to go with them. */
export interface SummaryView {
  readonly token: string
  readonly link: string
  /** `404`, or a dash when there was no response. */
  readonly status: string
  /** `Error 404 Not Found`, `200 OK`. */
  readonly statusText: string
  readonly tone: Tone
  readonly method: string
  /** The full URL. */
  readonly address: string
  /** Its path and query. */
  readonly target: string
  /** Whether following the URL is the same request once more. */
  readonly canBeVisited: boolean
  readonly ip: string
  readonly ipLink: string
  readonly route: string
  readonly controller: string
  readonly time: FormattedTime
  readonly duration: string
  readonly memory: string
  /** How it ended, as a sentence. */
  readonly outcome: string
  readonly badges: readonly Badge[]
  readonly isSubRequest: boolean
  readonly parent: string
  readonly parentLink: string
}

/** Makes what templates show of a summary. */
export function toSummaryView(summary: ProfileSummary): SummaryView {
  const { ip, method, outcome, parent, status, token, url } = summary
  return {
    token,
    link: recordLink(token),
    status: status === 0 ? '–' : String(status),
    statusText: describeStatus(status),
    tone: toneOfSummary(summary),
    method,
    address: url,
    target: toTarget(url),
    canBeVisited: (method === 'GET' || method === 'HEAD') && /^https?:\/\//.test(url),
    ip,
    ipLink: listLink({ ip, limit: '10' }),
    route: summary.route ?? '',
    controller: summary.controller ?? '',
    time: formatTime(summary.time),
    duration: formatDuration(summary.duration),
    memory: formatBytes(summary.memory),
    outcome: outcomes[outcome].sentence,
    badges: badgesOf(summary),
    isSubRequest: parent !== null,
    parent: parent ?? '',
    parentLink: parent === null ? '' : recordLink(parent),
  }
}

/** What is said of each outcome of a request, and its colour. */
export const outcomes: Readonly<Record<Outcome, { sentence: string; tone: Tone }>> = {
  complete: { sentence: 'Completed', tone: 'plain' },
  aborted: { sentence: 'The client closed the connection before the response was complete.', tone: 'warning' },
  'stream-failed': { sentence: 'The response stream failed before the response was complete.', tone: 'error' },
  crashed: { sentence: 'The process exited before the response was complete.', tone: 'error' },
  unfinished: { sentence: 'Recorded before the request was complete.', tone: 'warning' },
}

function describeStatus(status: number): string {
  if (status === 0) return 'No response'
  return `${status >= 400 ? 'Error ' : ''}${status} ${statusText(status)}`
}

/** A request that failed is no success, whatever its status. The error page of a browser's probe looks like the probe. */
function toneOfSummary(summary: ProfileSummary): Tone {
  if (outcomes[summary.outcome].tone === 'error') return 'error'
  return isBrowserProbe({ ...summary, parent: null }) ? 'plain' : toneOf(summary.status)
}

/** How much a status wants to be looked at. */
function toneOf(status: number): Tone {
  if (status === 0) return 'plain'
  if (status >= 400) return 'error'
  return status >= 300 ? 'warning' : 'ok'
}

function badgesOf(summary: ProfileSummary): Badge[] {
  if (isBrowserProbe(summary)) return [{ text: 'browser probe', tone: 'plain' }]
  const { calls, errors, exception, outcome, subRequests, warnings } = summary
  const badges: Badge[] = []
  if (exception !== null) badges.push({ text: exception, tone: 'error' })
  if (outcome !== 'complete') badges.push({ text: outcome.replace('-', ' '), tone: outcomes[outcome].tone })
  const count = (count: number, one: string, tone: Tone) => {
    if (count > 0) badges.push({ text: formatCount(count, one), tone })
  }
  count(errors, 'error', 'error')
  count(warnings, 'warning', 'warning')
  count(calls, 'HTTP client call', 'plain')
  count(subRequests, 'sub-request', 'plain')
  return badges
}

/** The same with one badge more, if there is one. */
export function withBadge<view extends SummaryView>(view: view, badge: Badge | undefined): view {
  return badge === undefined ? view : { ...view, badges: [...view.badges, badge] }
}
