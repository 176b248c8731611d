import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { type Finding, linkToFinding, tellProblem, toBadge, toneOf } from '../../insight/findings/finding.ts'
import { findRelatives } from '../../insight/relatives.ts'
import { outcomes, type SummaryView, type Tone, toSummaryView } from '../../insight/summary-view.ts'
import { durationOf, readCalls, type StoredCall } from '../../profile/calls.ts'
import { formatBytes, formatCount, formatDuration, shorten, toTarget } from '../../profile/format.ts'
import { formatText } from '../../profile/format-value.ts'
import { home, recordLink } from '../../profile/links.ts'
import { readLogs, severityOf } from '../../profile/logs.ts'
import type { Profile } from '../../profile/profile.ts'
import { asList, asNumber, asObject, asObjects, asOptionalNumber, asText } from '../../profile/read-soft.ts'
import { readRenders, renderTime } from '../../profile/renders.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { protect } from '../respond.ts'
import { cut, item, row, type ToolbarItem, type ToolbarSubject, toTimeItem } from './toolbar-items.ts'

/** Renders the content of a toolbar. If the profile does not exist, the answer is an empty 404, as in Symfony. */
export async function renderToolbar(
  token: string,
  request: Request,
  { inspector, profiler, storage, view }: Pick<ProfilerApplication, 'inspector' | 'profiler' | 'storage' | 'view'>,
): Promise<Response> {
  // The page is there before its profile is made.
  await profiler.whenWritten(token)
  const found = await storage.find(token)
  if (found === undefined) return protect(new Response(null, { status: 404 }))
  const { children } = await findRelatives(storage, found.profile)
  const findings = (await inspector()).inspect(found.profile)
  const html = await view.render('profiler/toolbar', toToolbarView({ ...found, children, findings }), request)
  return protect(Response.html(html))
}

/** Longer lists end with a link to all of it. */
const listLimit = 5

/** Makes what the template of the toolbar shows of a profile, which may be damaged: what cannot be read is left away. */
export function toToolbarView(subject: ToolbarSubject): Readonly<Record<string, unknown>> {
  const summary = toSummaryView(subject.profile.summary)
  return {
    token: summary.token,
    status: summary.status,
    tone: summary.tone,
    exception: subject.profile.summary.exception ?? '',
    method: summary.method,
    target: summary.target,
    home,
    items: itemMakers.flatMap(make => make(subject, summary) ?? []),
    record: toRecordItem(subject, summary),
  }
}

type ItemMaker = (subject: ToolbarSubject, summary: SummaryView) => ToolbarItem | undefined

/** In the order of the bar. */
const itemMakers: readonly ItemMaker[] = [
  toResponseItem,
  toExceptionItem,
  toRedirectItem,
  toLogItem,
  toFindingItem,
  toTimeItem,
  toTemplateItem,
  toCallItem,
  toSubRequestItem,
  toMemoryItem,
]

function toResponseItem({ children, profile }: ToolbarSubject, summary: SummaryView): ToolbarItem {
  const { contentType, outcome } = profile.summary
  const forwarded = readHeader(profile, 'x-previous-debug-token')
  const child = children.find(({ token }) => token === forwarded)
  return item('request', 'Response', {
    pill: summary.status,
    text: summary.route === '' ? 'no route' : `@${summary.route}`,
    tone: summary.tone,
    link: recordLink(summary.token, 'request'),
    rows: [
      row('Status', summary.statusText),
      row('Request', `${summary.method} ${cut(summary.target)}`),
      row('Route', summary.route || 'n/a', { link: recordLink(summary.token, 'router') }),
      row('Controller', summary.controller || 'n/a'),
      ...(forwarded === ''
        ? []
        : [
            row('Forwarded to', [child?.controller ?? '', forwarded].filter(Boolean).join(' · '), {
              link: recordLink(forwarded),
            }),
          ]),
      ...(contentType === null ? [] : [row('Content type', cut(contentType))]),
      ...(outcome === 'complete' ? [] : [row('Outcome', summary.outcome, { tone: outcomes[outcome].tone })]),
    ],
  })
}

function toExceptionItem({ profile }: ToolbarSubject, { token }: SummaryView): ToolbarItem | undefined {
  const { exception } = profile.summary
  if (exception === null) return undefined
  const thrown = asObjects(asObject(profile.data.exception).exceptions)
  const link = recordLink(token, 'exception')
  return item('exception', 'Exception', {
    text: exception,
    tone: 'error',
    link,
    rows: thrown
      .slice(0, listLimit)
      .map(({ message, name }) => row(asText(name) || 'Error', cut(asText(message)), { link, tone: 'error' })),
  })
}

function toRedirectItem({ profile }: ToolbarSubject): ToolbarItem | undefined {
  const chain = asObjects(profile.data.redirects)
  const last = chain.at(-1)
  if (last === undefined) return undefined
  const describe = ({ method, status, token, url }: Readonly<Record<string, unknown>>) =>
    row(`${asNumber(status)} ${asText(method)}`, `${cut(toTarget(asText(url)))} · ${asText(token)}`, {
      link: recordLink(asText(token)),
      tone: 'warning',
    })
  return item('redirect', 'Redirected', {
    pill: String(asNumber(last.status)),
    text: `from ${shorten(toTarget(asText(last.url)), 40)}`,
    tone: 'warning',
    link: recordLink(asText(last.token)),
    rows: chain.map(describe),
  })
}

function toLogItem({ profile }: ToolbarSubject, { token }: SummaryView): ToolbarItem | undefined {
  const { errors, warnings } = profile.summary
  if (errors + warnings === 0) return undefined
  const link = recordLink(token, 'logger')
  const records = readLogs(profile)
    .logs.map(log => ({ ...log, tone: severityOf(log.level) }))
    .filter(({ tone }) => tone !== 'plain')
  const counts = [errors > 0 && formatCount(errors, 'error'), warnings > 0 && formatCount(warnings, 'warning')]
  return item('logger', 'Logs', {
    text: counts.filter(Boolean).join(', '),
    tone: errors > 0 ? 'error' : 'warning',
    link,
    rows: records
      .slice(0, listLimit)
      .map(({ index, level, message, tone }) => row(level, cut(message), { link: `${link}#log-${index}`, tone })),
  })
}

function toFindingItem({ findings }: ToolbarSubject, { token }: SummaryView): ToolbarItem | undefined {
  const badge = toBadge(findings)
  if (badge === undefined) return undefined
  const left = findings.length - listLimit
  const toRow = (finding: Finding) =>
    row(finding.title, cut(tellProblem(finding)), { link: linkToFinding(finding, token), tone: toneOf(finding) })
  return item('findings', 'Findings', {
    ...badge,
    link: recordLink(token, 'findings'),
    rows: [...findings.slice(0, listLimit).map(toRow), ...(left > 0 ? [row(`And ${left} more`, '')] : [])],
  })
}

function toTemplateItem({ profile }: ToolbarSubject, { token }: SummaryView): ToolbarItem | undefined {
  const { calls, pages } = readRenders(profile)
  if (calls === 0) return undefined
  return item('templates', 'Templates', {
    text: formatCount(calls, 'template'),
    link: recordLink(token, 'templates'),
    isMinor: true,
    rows: [
      row('Render time', formatDuration(renderTime(pages))),
      ...pages
        .slice(0, listLimit)
        .map(({ duration, index, name }) =>
          row(formatDuration(duration), cut(name), { link: `${recordLink(token, 'templates')}#render-${index}` }),
        ),
    ],
  })
}

function toCallItem({ profile }: ToolbarSubject, { token }: SummaryView): ToolbarItem | undefined {
  const calls = readCalls(profile).calls.map(call => ({ ...call, tone: toneOfCall(call) }))
  const count = Math.max(asNumber(profile.summary.calls), calls.length)
  if (count === 0) return undefined
  const link = recordLink(token, 'http')
  return item('http', 'HTTP client', {
    text: formatCount(count, 'HTTP client call'),
    tone: calls.some(({ tone }) => tone === 'error') ? 'error' : 'plain',
    link,
    rows: calls.slice(0, listLimit).map(call =>
      row(`${call.status || '–'} ${call.method}`, `${cut(call.url)} · ${formatDuration(durationOf(call))}`, {
        link: `${link}#call-${call.index}`,
        tone: call.tone,
      }),
    ),
  })
}

function toSubRequestItem({ children, profile }: ToolbarSubject, { token }: SummaryView): ToolbarItem | undefined {
  const tokens = asList(profile.children).map(asText)
  if (tokens.length === 0) return undefined
  const describe = (token: string) => {
    const child = children.find(other => other.token === token)
    const view = child && toSummaryView(child)
    const value = view === undefined ? token : [view.controller || 'no controller', view.duration, token].join(' · ')
    return row(view?.status ?? '–', cut(value), { link: recordLink(token), tone: view?.tone ?? 'plain' })
  }
  return item('sub-requests', 'Sub-requests', {
    text: formatCount(tokens.length, 'sub-request'),
    link: recordLink(token, 'time'),
    isMinor: true,
    rows: tokens.slice(0, listLimit).map(describe),
  })
}

function toMemoryItem({ profile }: ToolbarSubject, { memory, token }: SummaryView): ToolbarItem {
  const { heap, pauses } = asObject(profile.data.memory)
  const { before, limit } = asObject(heap)
  const { count, total } = asObject(pauses)
  const optional = (name: string, bytes: unknown) =>
    asOptionalNumber(bytes) === undefined ? [] : [row(name, formatBytes(asNumber(bytes)))]
  return item('memory', 'Memory', {
    text: memory,
    link: recordLink(token, 'memory'),
    isMinor: true,
    rows: [
      row('Heap of the process', memory),
      ...optional('Before', before),
      ...optional('Limit', limit),
      ...(asNumber(count) === 0
        ? []
        : [row('Garbage collection', `${formatCount(asNumber(count), 'run')}, ${formatDuration(asNumber(total))}`)]),
    ],
  })
}

/** What stands at the end: which record this is, and of which application. */
function toRecordItem({ facts }: ToolbarSubject, { link, time, token }: SummaryView): ToolbarItem {
  const config = asObject(facts.config)
  const versions = asObject(asObject(facts.server).versions)
  const environment = formatText(config.environment)
  const known = (name: string, value: string) => (value === '' ? [] : [row(name, value)])
  return item('record', 'Profile', {
    pill: environment,
    text: token,
    link,
    rows: [
      row('Record', `${token} · ${time.clock} UTC`, { link }),
      ...known('Sinfonietta', formatText(versions.sinfonietta)),
      ...known('Node.js', formatText(versions.node)),
      ...known('Environment', [environment, config.isDebug === true ? 'debug' : ''].filter(Boolean).join(', ')),
      row('Profiler', 'All profiles', { link: home }),
    ],
  })
}

function toneOfCall({ error, status }: StoredCall): Tone {
  return error !== '' || status >= 400 ? 'error' : 'plain'
}

function readHeader({ data }: Profile, wanted: string): string {
  const pairs = asList(asObject(data.response).headers).map(asList)
  const [, value] = pairs.find(([name]) => asText(name).toLowerCase() === wanted) ?? []
  return asText(value)
}
