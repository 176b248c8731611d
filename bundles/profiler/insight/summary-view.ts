import { statusText } from '../../../lib/http/response.ts'
import { probePath } from '../client/browser-probes.ts'
import {
  type FormattedTime,
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatTime,
  shorten,
  toReadableUrl,
  toTarget,
} from '../profile/format.ts'
import { listLink, profileLink, routeLink } from '../profile/links.ts'
import { type Outcome, type ProfileSummary, readCount, summaryCounts } from '../profile/profile.ts'
import { nameOfUnit, unitOf } from '../profile/units.ts'

/** The colour of a status, badge or finding. */
export type Tone = 'plain' | 'ok' | 'warning' | 'error'

/** A word or a count in a coloured frame. */
export interface Badge {
  readonly text: string
  readonly tone: Tone
  /** The panel of a profile that says more. */
  readonly link?: string
}

/** The summary of a profile for templates: texts and links. */
export interface SummaryView {
  readonly token: string
  readonly link: string
  /** Of requests: only these have a status, a client and a URL. */
  readonly isExchange: boolean
  /** `request`, `job`. */
  readonly noun: string
  /** What it was and how it ended, for the title of a page: `404 GET /missing`, `failed job mail ship`. */
  readonly title: string
  /** `404`, or a dash when there was no response; of other work how it ended: `failed`. */
  readonly status: string
  /** The words of the status of a failed request: `Not Found`; empty for other requests. */
  readonly reason: string
  /** `Error 404 Not Found`, `200 OK`. */
  readonly statusText: string
  readonly tone: Tone
  /** Empty of work that is no request, as is the address. */
  readonly method: string
  /** The URL. */
  readonly address: string
  /**
   * The path and query of the URL, decoded for reading, and what is done there:
   * `/graphql · query Books`. Of other work its kind and name.
   */
  readonly target: string
  /** Whether a link to the URL repeats the request. */
  readonly canBeVisited: boolean
  readonly ip: string
  readonly ipLink: string
  /** Empty in storage of a single machine. */
  readonly machine: string
  readonly machineLink: string
  /** Empty in older profiles. */
  readonly program: string
  readonly programLink: string
  readonly route: string
  /** The statistics of the route. */
  readonly routeLink: string
  readonly controller: string
  readonly time: FormattedTime
  readonly duration: string
  /** The number of queries of databases: `51`; empty without any. */
  readonly queries: string
  /** The time of these queries. */
  readonly queryTime: string
  /** Their panel. */
  readonly queryLink: string
  readonly memory: string
  /** A sentence about how the request ended. */
  readonly outcome: string
  readonly badges: readonly Badge[]
  readonly isSubRequest: boolean
  readonly parent: string
  readonly parentLink: string
}

/** Characters of a URL, and of its path and query. The request panel has all parameters. */
const addressLimit = 1000
const targetLimit = 500

/** Creates the view of a summary for templates. */
export function toSummaryView(summary: ProfileSummary): SummaryView {
  const machine = summary.machine ?? ''
  const program = summary.program ?? ''
  const { ip, method, operation, outcome, parent, status, token, url } = summary
  const { isExchange, noun } = unitOf(summary)
  const route = isExchange ? toReadableUrl(toTarget(url)) : nameOfUnit(summary)
  const target = nameOfWork({ route: shorten(route, targetLimit), operation })
  const ending = isExchange ? (status === 0 ? '–' : String(status)) : outcomes[outcome].word
  return {
    token,
    link: profileLink(token),
    isExchange,
    noun,
    title: [ending, method, target].filter(part => part !== '').join(' '),
    status: ending,
    reason: status >= 400 ? statusText(status) : '',
    statusText: isExchange ? describeStatus(status) : describeOutcome(summary),
    tone: toneOfSummary(summary),
    method,
    address: shorten(url, addressLimit),
    target,
    canBeVisited: /^(?:GET|HEAD)$/.test(method) && /^https?:\/\//.test(url) && url.length <= addressLimit,
    ip,
    ipLink: listLink({ ip }),
    machine,
    machineLink: listLink({ machine }),
    program,
    programLink: listLink({ program }),
    route: summary.route ?? '',
    routeLink: routeLink({ route: summary.route, program: summary.program }),
    controller: summary.controller ?? '',
    time: formatTime(summary.time),
    duration: describeDuration(summary),
    queries: summary.queries === 0 ? '' : formatNumber(summary.queries),
    queryTime: formatDuration(summary.queryTime),
    queryLink: profileLink(token, 'database'),
    memory: formatBytes(summary.memory),
    outcome: describeOutcome(summary),
    badges: badgesOf(summary),
    isSubRequest: parent !== null,
    parent: parent ?? '',
    parentLink: parent === null ? '' : profileLink(parent),
  }
}

/** Writes the duration of a request; of one that was recorded before its end, `> 1.356 ms`. */
export function describeDuration({ duration, outcome }: ProfileSummary): string {
  return `${outcome === 'unfinished' ? '> ' : ''}${formatDuration(duration)}`
}

/** What requests have in common that are compared: their program, route and operation. */
export function workOf({ operation, program, route }: Pick<ProfileSummary, 'operation' | 'program' | 'route'>): string {
  return [program, route, operation].map(part => part ?? '').join('\n')
}

/** The name of a group of requests for people: `POST /graphql · query Books`; empty without a route. */
export function nameOfWork({ operation, route }: Pick<ProfileSummary, 'operation' | 'route'>): string {
  return [route, operation].filter(part => part !== null).join(' · ')
}

interface OutcomeWords {
  /** In the place of a status. */
  readonly word: string
  readonly sentence: string
  readonly tone: Tone
}

/** A sentence and a colour for each outcome of a request. */
export const outcomes: Readonly<Record<Outcome, OutcomeWords>> = {
  complete: { word: 'done', sentence: 'Completed', tone: 'plain' },
  failed: { word: 'failed', sentence: 'Failed', tone: 'error' },
  aborted: {
    word: 'aborted',
    sentence: 'The client closed the connection before the response was complete.',
    tone: 'warning',
  },
  'stream-failed': {
    word: 'broken',
    sentence: 'The server broke the response off before it was complete.',
    tone: 'error',
  },
  crashed: {
    word: 'crashed',
    sentence: 'The process exited before this request, or work that it had begun, was over.',
    tone: 'error',
  },
  unfinished: { word: 'open', sentence: 'Recorded before the request was complete.', tone: 'warning' },
}

function describeOutcome(summary: ProfileSummary): string {
  return outcomes[summary.outcome].sentence.replace('request', unitOf(summary).noun)
}

function describeStatus(status: number): string {
  if (status === 0) return 'No response'
  return `${status >= 400 ? 'Error ' : ''}${status} ${statusText(status)}`
}

/**
 * A failed request is an error, whatever its status; a browser probe is none.
 */
function toneOfSummary(summary: ProfileSummary): Tone {
  const { tone } = outcomes[summary.outcome]
  if (tone === 'error') return 'error'
  if (!unitOf(summary).isExchange) return tone === 'plain' ? 'ok' : tone
  return isBrowserProbe(summary) ? 'plain' : toneOf(summary.status)
}

/** The colour of an HTTP status. */
function toneOf(status: number): Tone {
  if (status === 0) return 'plain'
  if (status >= 400) return 'error'
  return status >= 300 ? 'plain' : 'ok'
}

/**
 * Whether a browser made this request by itself and got a 404, for example for a missing icon: that is no error of the
 * application. So is the sub-request for the error page, which has the same URL.
 */
export function isBrowserProbe({ route, status, url }: ProfileSummary): boolean {
  if (status !== 404 || route !== null) return false
  return probePath.test(toTarget(url).replace(/\?.*/, ''))
}

/**
 * Whether a request failed on the server: a status of 500 or more, a failed stream or a crash.
 * Other work counts if it failed.
 */
export function isError({ outcome, status }: ProfileSummary): boolean {
  return status >= 500 || outcome === 'crashed' || outcome === 'failed' || outcome === 'stream-failed'
}

function badgesOf(summary: ProfileSummary): Badge[] {
  if (isBrowserProbe(summary)) return [{ text: 'browser probe', tone: 'plain' }]
  const { exception, outcome, token } = summary
  const badges: Badge[] = []
  if (exception !== null) badges.push({ text: exception, tone: 'error', link: profileLink(token, 'exception') })
  // Other work has it in the place of a status.
  if (outcome !== 'complete' && unitOf(summary).isExchange)
    badges.push({ text: outcome.replace('-', ' '), tone: outcomes[outcome].tone })
  for (const count of summaryCounts) {
    const { badge, panel } = count
    const number = readCount(summary, count)
    if (badge !== undefined && number > 0)
      badges.push({ text: formatCount(number, badge.one), tone: badge.tone, link: profileLink(token, panel) })
  }
  return badges
}

/** Returns the view with an additional badge, or the same view without one. */
export function withBadge<view extends SummaryView>(view: view, badge: Badge | undefined): view {
  return badge === undefined ? view : { ...view, badges: [...view.badges, badge] }
}
