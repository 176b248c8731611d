import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { formatTree } from '../../../../lib/redact/value-tree.ts'
import type { ViewModel } from '../../../../lib/view/view.ts'
import { type Finding, linkToFinding, toBadge, toneOf, writeProblem } from '../../insight/findings/finding.ts'
import { type Overview, summarizeProfile } from '../../insight/overview/overview.ts'
import { toPlainText } from '../../insight/overview/sentence-parts.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { outcomes, type SummaryView, type Tone, toSummaryView } from '../../insight/summary-view.ts'
import { durationOf, readCalls, type StoredCall } from '../../profile/calls.ts'
import type { RedirectData } from '../../profile/exchange-data.ts'
import { formatBytes, formatCount, formatDuration, shorten, toTarget } from '../../profile/format.ts'
import { readHeader } from '../../profile/format-value.ts'
import { home, profileLink } from '../../profile/links.ts'
import { readLogs, severityOf } from '../../profile/logs.ts'
import { readRenders, renderTime } from '../../profile/renders.ts'
import { countIssues, inputNames } from '../../profile/validation-data.ts'
import { findProfile, type ProfileServices } from '../pages/find-profile.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { protect } from '../respond.ts'
import { toCacheItem, toDatabaseItem } from './query-items.ts'
import { cutText, item, row, type ToolbarItem, toBuildItem, toTimeItem } from './toolbar-items.ts'

/** Renders the content of a toolbar. If the profile does not exist, the answer is an empty 404, as in Symfony. */
export async function renderToolbar(
  token: string,
  request: Request,
  app: ProfileServices & Pick<ProfilerApplication, 'isOutdated' | 'view'>,
): Promise<Response> {
  const found = await findProfile(token, app)
  if (found === undefined) return protect(new Response(null, { status: 404 }))
  return protect(
    Response.html(await app.view.render('profiler/toolbar', toToolbarView(found, app.isOutdated()), request)),
  )
}

/** The most rows of an item. */
const listLimit = 5

/**
 * Makes the view of the toolbar. Items without data are left out. `isOutdated` is whether the sources have changed since the
 * build that has answered.
 */
export function toToolbarView(shown: ShownProfile, isOutdated = false): ViewModel {
  const summary = toSummaryView(shown.profile.summary)
  const overview = summarizeProfile(shown)
  return {
    sentence: toPlainText(overview.sentence),
    token: summary.token,
    status: summary.status,
    tone: summary.tone,
    exception: shown.profile.summary.exception ?? '',
    method: summary.method,
    target: summary.target,
    home,
    items: [
      ...(isOutdated ? [toBuildItem(summary)] : []),
      ...itemMakers.flatMap(make => make(shown, summary, overview) ?? []),
    ],
    record: toProfileItem(shown, summary),
  }
}

type ItemMaker = (subject: ShownProfile, summary: SummaryView, overview: Overview) => ToolbarItem | undefined

/** In the order of the bar. */
const itemMakers: readonly ItemMaker[] = [
  toResponseItem,
  toExceptionItem,
  toRedirectItem,
  toLogItem,
  toConsoleItem,
  toValidationItem,
  toFindingItem,
  toTimeItem,
  toDatabaseItem,
  toCacheItem,
  toTemplateItem,
  toCallItem,
  toSubRequestItem,
  toMemoryItem,
]

function toResponseItem({ children, profile }: ShownProfile, summary: SummaryView): ToolbarItem {
  const { contentType, outcome } = profile.summary
  const [forwarded = ''] = readHeader(profile.collectors.response, 'x-previous-debug-token')
  const child = children.find(({ token }) => token === forwarded)
  return item('request', 'Response', {
    pill: summary.status,
    text: summary.route === '' ? 'no route' : `@${summary.route}`,
    tone: summary.tone,
    link: profileLink(summary.token, 'request'),
    rows: [
      row('Status', summary.statusText),
      row('Request', `${summary.method} ${cutText(summary.target)}`),
      row('Route', summary.route || 'n/a', { link: profileLink(summary.token, 'router') }),
      row('Controller', summary.controller || 'n/a'),
      ...(forwarded === ''
        ? []
        : [
            row('Forwarded to', [child?.controller ?? '', forwarded].filter(Boolean).join(' · '), {
              link: profileLink(forwarded),
            }),
          ]),
      ...(contentType === null ? [] : [row('Content type', cutText(contentType))]),
      ...(outcome === 'complete' ? [] : [row('Outcome', summary.outcome, { tone: outcomes[outcome].tone })]),
    ],
  })
}

function toExceptionItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const { exception } = profile.summary
  if (exception === null) return undefined
  const thrown = profile.collectors.exception?.exceptions ?? []
  const link = profileLink(token, 'exception')
  return item('exception', 'Exception', {
    text: exception,
    tone: 'error',
    link,
    rows: thrown
      .slice(0, listLimit)
      .map(({ message, name }) => row(name || 'Error', cutText(message), { link, tone: 'error' })),
  })
}

function toRedirectItem({ profile }: ShownProfile): ToolbarItem | undefined {
  const chain = profile.collectors.redirects ?? []
  const last = chain.at(-1)
  if (last === undefined) return undefined
  const toRow = ({ method, status, token, url }: RedirectData) =>
    row(`${status} ${method}`, `${cutText(toTarget(url))} · ${token}`, { link: profileLink(token), tone: 'warning' })
  return item('redirect', 'Redirected', {
    pill: String(last.status),
    text: `from ${shorten(toTarget(last.url), 40)}`,
    tone: 'warning',
    link: profileLink(last.token),
    rows: chain.map(toRow),
  })
}

function toLogItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const { errors, warnings } = profile.summary
  if (errors + warnings === 0) return undefined
  const link = profileLink(token, 'logger')
  const records = readLogs(profile)
    .logs.map(log => ({ tone: severityOf(log.level), ...log }))
    .filter(({ tone }) => tone !== 'plain')
  const counts = [errors > 0 && formatCount(errors, 'error'), warnings > 0 && formatCount(warnings, 'warning')]
  return item('logger', 'Logs', {
    text: counts.filter(Boolean).join(', '),
    tone: errors > 0 ? 'error' : 'warning',
    link,
    rows: records
      .slice(0, listLimit)
      .map(({ index, level, message, tone }) => row(level, cutText(message), { link: `${link}#log-${index}`, tone })),
  })
}

function toConsoleItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const { dumps } = profile.summary
  if (dumps === 0) return undefined
  const { entries = [] } = profile.collectors.console ?? {}
  const link = profileLink(token, 'console')
  return item('console', 'Console', {
    text: formatCount(dumps, 'dump'),
    link,
    rows: entries.slice(0, listLimit).map(({ label, method, values }, index) => {
      const text = values.map(value => formatTree(value).replaceAll(/\s+/g, ' ')).join(' ')
      return row(label ?? method, shorten(text, rowLimit), { link: `${link}#dump-${index}` })
    }),
  })
}

/** Characters of a value in a row. */
const rowLimit = 100

/** Only if an input was refused. */
function toValidationItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const { validations = [] } = profile.collectors.validation ?? {}
  const count = validations.reduce((sum, validation) => sum + countIssues(validation), 0)
  if (count === 0) return undefined
  const link = profileLink(token, 'validation')
  const rows = validations.flatMap(({ issues, source }, index) =>
    issues.map(({ message, path }) =>
      row(path.join('.') || inputNames[source], cutText(message), { link: `${link}#validation-${index}` }),
    ),
  )
  return item('validation', 'Validation', {
    text: formatCount(count, 'issue'),
    tone: 'warning',
    link,
    rows: rows.slice(0, listLimit),
  })
}

function toFindingItem({ findings }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const badge = toBadge(findings)
  if (badge === undefined) return undefined
  const left = findings.length - listLimit
  const toRow = (finding: Finding) =>
    row(finding.title, cutText(writeProblem(finding)), { link: linkToFinding(finding, token), tone: toneOf(finding) })
  return item('findings', 'Findings', {
    ...badge,
    link: profileLink(token, 'findings'),
    rows: [...findings.slice(0, listLimit).map(toRow), ...(left > 0 ? [row(`And ${left} more`, '')] : [])],
  })
}

function toTemplateItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const { calls, pages } = readRenders(profile)
  if (calls === 0) return undefined
  return item('templates', 'Templates', {
    text: formatCount(calls, 'template'),
    link: profileLink(token, 'templates'),
    isMinor: true,
    rows: [
      row('Render time', formatDuration(renderTime(pages))),
      ...pages
        .slice(0, listLimit)
        .map(({ duration, index, name }) =>
          row(formatDuration(duration), cutText(name), { link: `${profileLink(token, 'templates')}#render-${index}` }),
        ),
    ],
  })
}

function toCallItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const calls = readCalls(profile).calls.map(call => ({ tone: toneOfCall(call), ...call }))
  const count = Math.max(profile.summary.calls, calls.length)
  if (count === 0) return undefined
  const link = profileLink(token, 'http')
  return item('http', 'HTTP client', {
    text: formatCount(count, 'HTTP client call'),
    tone: calls.some(({ tone }) => tone === 'error') ? 'error' : 'plain',
    link,
    rows: calls.slice(0, listLimit).map(call =>
      row(`${call.status || '–'} ${call.method}`, `${cutText(call.url)} · ${formatDuration(durationOf(call))}`, {
        link: `${link}#call-${call.index}`,
        tone: call.tone,
      }),
    ),
  })
}

function toSubRequestItem({ children, profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const tokens = profile.children
  if (tokens.length === 0) return undefined
  const describe = (token: string) => {
    const child = children.find(other => other.token === token)
    const view = child && toSummaryView(child)
    const value = view === undefined ? token : [view.controller || 'no controller', view.duration, token].join(' · ')
    return row(view?.status ?? '–', cutText(value), { link: profileLink(token), tone: view?.tone ?? 'plain' })
  }
  return item('sub-requests', 'Sub-requests', {
    text: formatCount(tokens.length, 'sub-request'),
    link: profileLink(token, 'time'),
    isMinor: true,
    rows: tokens.slice(0, listLimit).map(describe),
  })
}

function toMemoryItem({ profile }: ShownProfile, { memory, token }: SummaryView): ToolbarItem {
  const { heap, pauses } = profile.collectors.memory ?? {}
  return item('memory', 'Memory', {
    text: memory,
    link: profileLink(token, 'memory'),
    isMinor: true,
    rows: [
      row('Heap of the process', memory),
      ...(heap === undefined ? [] : [row('Before', formatBytes(heap.before)), row('Limit', formatBytes(heap.limit))]),
      ...(pauses === undefined || pauses.count === 0
        ? []
        : [row('Garbage collection', `${formatCount(pauses.count, 'run')}, ${formatDuration(pauses.total)}`)]),
    ],
  })
}

/** The last item: the profile itself and its application. */
function toProfileItem({ profile }: ShownProfile, { link, time, token }: SummaryView): ToolbarItem {
  const { config, server } = profile.process
  const { environment = '', isDebug = false } = config ?? {}
  const { node = '', sinfonietta = '' } = server?.versions ?? {}
  const known = (name: string, value: string) => (value === '' ? [] : [row(name, value)])
  return item('record', 'Profile', {
    pill: environment,
    text: token,
    link,
    rows: [
      row('Profile', `${token} · ${time.clock} UTC`, { link }),
      ...known('Sinfonietta', sinfonietta),
      ...known('Node.js', node),
      ...known('Environment', [environment, isDebug ? 'debug' : ''].filter(Boolean).join(', ')),
      row('Profiler', 'All profiles', { link: home }),
    ],
  })
}

function toneOfCall({ error, status }: StoredCall): Tone {
  return error !== '' || status >= 400 ? 'error' : 'plain'
}
