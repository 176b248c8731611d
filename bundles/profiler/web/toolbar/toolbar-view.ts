import type { Collector, CollectorToolbarItem } from '../../../../kernel/profiler-contract.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { formatTree } from '../../../../lib/redact/value-tree.ts'
import { type Finding, linkToFinding, toBadge, toneOf, writeProblem } from '../../insight/findings/finding.ts'
import { type Overview, summarizeProfile } from '../../insight/overview/overview.ts'
import { toPlainText } from '../../insight/overview/sentence-parts.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { listClaims } from '../../insight/since-edit/since-edit.ts'
import { outcomes, type SummaryView, type Tone, toSummaryView } from '../../insight/summary-view.ts'
import { findThrowFrame } from '../../profile/exceptions.ts'
import type { RedirectData } from '../../profile/exchange-data.ts'
import { formatCount, formatDuration, formatNumber, shorten, toOneLine, toTarget } from '../../profile/format.ts'
import { readHeader } from '../../profile/format-value.ts'
import { compareLink, compareWithPreviousLink, home, profileLink } from '../../profile/links.ts'
import { readLogs, severityOf } from '../../profile/logs.ts'
import { type QueryGroup, type QuerySet, queryDuration, readQueries } from '../../profile/queries.ts'
import { countIssues, inputNames } from '../../profile/validation-data.ts'
import { viewAnswer } from '../answer-place.ts'
import { EditorLinks } from '../editor-links.ts'
import { findProfile, type ProfileServices } from '../pages/find-profile.ts'
import { labelCollector } from '../panels/load-panels.ts'
import type { PanelModel } from '../panels/panel.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { protect } from '../respond.ts'
import {
  cutText,
  item,
  itemRowLimit,
  limitRows,
  row,
  type ToolbarItem,
  toBuildItem,
  toTimeItem,
} from './toolbar-items.ts'
import { pausedToken } from './toolbar-listener.ts'
import { toCallItem, toMemoryItem, toSubRequestItem, toTemplateItem } from './work-items.ts'

/** Renders the content of a toolbar. If the profile does not exist, the answer is an empty 404, as in Symfony. */
export async function renderToolbar(
  token: string,
  request: Request,
  app: ProfileServices & Pick<ProfilerApplication, 'brokenSources' | 'collectors' | 'editor' | 'policy' | 'view'>,
): Promise<Response> {
  if (token === pausedToken && app.policy.isPaused) {
    return protect(Response.html(await app.view.render('profiler/toolbar-paused', { home }, request)))
  }
  const found = await findProfile(token, app)
  if (found === undefined) return protect(new Response(null, { status: 404 }))
  return protect(
    Response.html(await app.view.render('profiler/toolbar', toToolbarView(found, app.collectors, app), request)),
  )
}

type SourceState = Pick<ProfilerApplication, 'brokenSources' | 'editor'>

const wholeSources: SourceState = {
  brokenSources: () => ({ problems: [], served: 'current' }),
  editor: new EditorLinks({ directory: '' }),
}

/**
 * Makes the view of the toolbar. Items without data are left out. `collectors` are those of bundles, the third argument has the changed
 * files that cannot be used, and the links to the editor.
 */
export function toToolbarView(
  shown: ShownProfile,
  collectors: readonly Collector[] = [],
  { brokenSources, editor }: SourceState = wholeSources,
): PanelModel {
  const summary = toSummaryView(shown.profile.summary)
  const overview = summarizeProfile(shown)
  const build = toBuildItem(summary, brokenSources(), editor)
  return {
    sentence: toPlainText(overview.sentence),
    token: summary.token,
    status: summary.status,
    tone: summary.tone,
    build: build[0]?.pill ?? '',
    exception: shown.profile.summary.exception ?? '',
    method: summary.method,
    target: summary.target,
    home,
    items: [
      ...build,
      ...itemMakers.flatMap(make => make(shown, summary, overview, editor) ?? []),
      ...toCollectorItems(shown, summary, collectors),
    ],
    record: toProfileItem(shown, summary),
  }
}

type ItemMaker = (
  subject: ShownProfile,
  summary: SummaryView,
  overview: Overview,
  editor: EditorLinks,
) => ToolbarItem | undefined

/** In the order of the bar. */
const itemMakers: readonly ItemMaker[] = [
  toResponseItem,
  toExceptionItem,
  toRedirectItem,
  toLogItem,
  toConsoleItem,
  toValidationItem,
  toEditItem,
  toFindingItem,
  toTimeItem,
  toDatabaseItem,
  toCacheItem,
  toTemplateItem,
  toCallItem,
  toSubRequestItem,
  toMemoryItem,
]

function toResponseItem(
  { children, profile }: ShownProfile,
  summary: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem {
  const { contentType, outcome } = profile.summary
  const [forwarded = ''] = readHeader(profile.collectors.response, 'x-previous-debug-token')
  const child = children.find(({ token }) => token === forwarded)
  const place = viewAnswer(profile, editor)
  return item('request', 'Response', {
    pill: summary.status,
    text: summary.route === '' ? 'no route' : `@${summary.route}`,
    tone: summary.tone,
    link: profileLink(summary.token, 'request'),
    rows: [
      row('Status', summary.statusText),
      row('Request', `${summary.method} ${cutText(summary.target)}`),
      row('Route', summary.route || 'n/a', { link: profileLink(summary.token, 'router') }),
      summary.controller === ''
        ? row('Controller', 'n/a')
        : row('Controller', '', { place: editor.viewController(summary.controller) }),
      ...(place === false ? [] : [row('Code', '', { place })]),
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

function toExceptionItem(
  { profile }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { exception } = profile.summary
  if (exception === null) return undefined
  const thrown = profile.collectors.exception?.exceptions ?? []
  const link = profileLink(token, 'exception')
  const place = editor.viewCaller(findThrowFrame(profile))
  return item('exception', 'Exception', {
    text: exception,
    tone: 'error',
    link,
    rows: limitRows(
      thrown.map(({ message, name }, index) =>
        row(name || 'Error', cutText(message), { link, tone: 'error', place: index === 0 && place }),
      ),
      link,
    ),
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
      row('Profile', token, { link, time }),
      row('Compare', 'With previous', { link: compareWithPreviousLink(token) }),
      ...known('Sinfonietta', sinfonietta),
      ...known('Node.js', node),
      ...known('Environment', [environment, isDebug ? 'debug' : ''].filter(Boolean).join(', ')),
      row('Profiler', 'All profiles', { link: home }),
    ],
  })
}

/** The most details of an item. */
const detailLimit = 10

/** Creates the items of the collectors of bundles, for the collectors that have one. */
function toCollectorItems(
  { profile }: ShownProfile,
  { token }: SummaryView,
  collectors: readonly Collector[],
): ToolbarItem[] {
  return collectors.flatMap(collector => {
    const { name } = collector
    const shown = name in profile.data ? readItem(collector, profile.data[name]) : undefined
    if (shown === undefined) return []
    const { details = {}, text, tone = 'plain' } = shown
    const link = profileLink(token, name)
    const rows = Object.entries(details).map(([name, value]) => row(name, cutText(String(value))))
    return item(name, labelCollector(collector), {
      text: cutText(String(text)),
      tone,
      link,
      rows: limitRows(rows, link, rows.length - detailLimit, detailLimit),
    })
  })
}

/** An item that fails is left out: its data is from the disk, and its code is of another bundle. */
function readItem(collector: Collector, data: unknown): CollectorToolbarItem | undefined {
  try {
    return collector.toolbar?.(data)
  } catch {
    return undefined
  }
}

/** The texts in the bar. */
const textLimit = 2

/** Creates the item of what has changed since the last edit of files; `undefined` if nothing has. */
function toEditItem(
  { sinceEdit }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const claims = sinceEdit === undefined ? [] : listClaims(sinceEdit)
  const [worst] = claims
  if (sinceEdit === undefined || worst === undefined) return undefined
  const { before, files } = sinceEdit
  const [file = '', ...others] = files
  const edited = others.length === 0 ? file : `${file} and ${formatCount(others.length, 'other file')}`
  const left = claims.length - textLimit
  const link = `${profileLink(token, 'overview')}#since-edit`
  const texts = claims.slice(0, textLimit).map(({ text }) => text)
  return item('edit', 'Since your edit', {
    pill: 'edit',
    text: [...texts, ...(left > 0 ? [`${left} more`] : [])].join(', '),
    tone: worst.tone,
    link,
    rows: [
      row('Edited', '', { place: editor.viewName(cutText(edited), { file }) }),
      ...limitRows(
        claims.map(({ before, name, now, tone }) => row(name, cutText(`${before} → ${now}`), { tone })),
        link,
      ),
      row('Before', before.token, { link: compareLink(before.token, token) }),
    ],
  })
}

/** Creates the item of logged errors and warnings; `undefined` without any. */
function toLogItem(
  { profile }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
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
    rows: limitRows(
      records.map(({ caller, index, level, message, tone }) =>
        row(level, cutText(message), { link: `${link}#log-${index}`, tone, place: editor.viewCaller(caller) }),
      ),
      `${link}&level=warning`,
      errors + warnings - itemRowLimit,
    ),
  })
}

/** Creates the item of dumps; `undefined` without any. */
function toConsoleItem(
  { profile }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { dumps } = profile.summary
  if (dumps === 0) return undefined
  const { entries = [] } = profile.collectors.console ?? {}
  const link = profileLink(token, 'console')
  return item('console', 'Console', {
    text: formatCount(dumps, 'dump'),
    link,
    rows: limitRows(
      entries.map(({ label, method, site, values }, index) => {
        const text = values.map(value => toOneLine(formatTree(value))).join(' ')
        return row(label ?? method, shorten(text, rowLimit), {
          link: `${link}#dump-${index}`,
          place: editor.viewCaller(site),
        })
      }),
      link,
      dumps - itemRowLimit,
    ),
  })
}

/** Characters of a value in a row. */
const rowLimit = 100

/** Creates the item of the issues of refused inputs; `undefined` without any. */
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
    rows: limitRows(rows, link),
  })
}

/** Creates the item of findings; `undefined` without any. */
function toFindingItem(
  { findings }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const badge = toBadge(findings)
  if (badge === undefined) return undefined
  const link = profileLink(token, 'findings')
  const toRow = (finding: Finding) =>
    row(finding.title, cutText(writeProblem(finding)), {
      link: linkToFinding(finding, token),
      tone: toneOf(finding),
      place: editor.viewCaller(finding.code),
    })
  return item('findings', 'Findings', {
    ...badge,
    link,
    rows: limitRows(findings.map(toRow), link),
  })
}

/** Makes the item of the queries of databases; `undefined` without any. */
function toDatabaseItem(
  shown: ShownProfile,
  view: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { queries, queryTime } = shown.profile.summary
  const { database } = readQueries(shown.profile)
  const count = Math.max(queries, database.queries.length)
  if (count === 0) return undefined
  const text = `${formatCount(count, 'query', 'queries')}, ${formatDuration(queryTime)}`
  return toItem('database', 'Database', { text }, database, shown, view, editor)
}

/** Makes the item of the queries of caches; `undefined` without any. */
function toCacheItem(
  shown: ShownProfile,
  view: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { cache } = readQueries(shown.profile)
  const count = Math.max(shown.profile.summary.cacheCalls, cache.queries.length)
  if (count === 0) return undefined
  return toItem('cache', 'Cache', { text: formatCount(count, 'cache call'), isMinor: true }, cache, shown, view, editor)
}

function toItem(
  panel: 'database' | 'cache',
  title: string,
  init: Pick<ToolbarItem, 'text'> & Partial<ToolbarItem>,
  { duplicates, queries, shapes }: QueryGroup,
  { findings }: ShownProfile,
  { token }: SummaryView,
  editor: EditorLinks,
): ToolbarItem {
  const link = profileLink(token, panel)
  const [worst] = findings.filter(({ place }) => place?.panel === panel)
  const tone: Tone = queries.some(({ error }) => error !== '') ? 'error' : worst === undefined ? 'plain' : toneOf(worst)
  return item(panel, title, {
    ...init,
    tone,
    link,
    rows: [
      // They are sorted by time.
      ...limitRows(
        shapes.map(shape => toRow(shape, link, editor)),
        link,
      ),
      ...(duplicates.length === 0
        ? []
        : [row('Duplicates', formatNumber(duplicates.length), { link: `${link}&show=duplicate`, tone: 'warning' })]),
    ],
  })
}

/** The row of a statement: the time of all its queries, and a link to the slowest of them. */
function toRow({ queries, text, total }: QuerySet, link: string, editor: EditorLinks): ToolbarItem['rows'][number] {
  const [slowest] = queries.toSorted((one, other) => queryDuration(other) - queryDuration(one))
  const times = queries.length === 1 ? '' : `${formatNumber(queries.length)} × `
  return row(formatDuration(total), cutText(`${times}${text}`), {
    link: `${link}#query-${slowest?.index}`,
    tone: queries.some(({ error }) => error !== '') ? 'error' : 'plain',
    place: editor.viewCaller(slowest?.caller),
  })
}
