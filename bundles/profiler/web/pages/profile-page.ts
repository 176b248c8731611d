import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import { exportKindsOf } from '../../export/json.ts'
import { compareWithPrevious } from '../../insight/compare/judge-comparison.ts'
import { toBadge } from '../../insight/findings/finding.ts'
import {
  findChildren,
  findOccurrences,
  mainRequests,
  type Relatives,
  type ShownProfile,
  showProfile,
} from '../../insight/relatives.ts'
import { isBrowserProbe, toSummaryView, withBadge } from '../../insight/summary-view.ts'
import { findTrace } from '../../insight/timeline/services.ts'
import { readHandledTime } from '../../profile/event-tree.ts'
import { formatDuration, formatNumber, formatTime } from '../../profile/format.ts'
import {
  changeLink,
  compareLink,
  compareWithPreviousLink,
  type ExportKind,
  exportLink,
  latestLink,
  listLink,
  profileDataLink,
  profileLink,
} from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import type { Profiler } from '../../record/profiler.ts'
import { readOriginal } from '../../record/recording-policy.ts'
import { viewAnswer } from '../answer-place.ts'
import type { EditorLinks } from '../editor-links.ts'
import type { ProfilePanel } from '../panels/panel.ts'
import { createMenu, renderPanel, toReplayButton } from '../panels/render-panel.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { renderPage } from '../respond.ts'
import { createRows, listColumns, selectColumns } from './list-page.ts'

/**
 * Renders the page of a profile: its summary, the menu of panels, and the panel of the query. By default that is the
 * overview. If there is no such panel, the page says so and has the status 404.
 */
export async function renderProfile(
  token: string,
  request: Request,
  app: ProfileServices & Pick<ProfilerApplication, 'assets' | 'editor' | 'logger' | 'panels' | 'view'>,
): Promise<Response> {
  const found = await findProfile(token, app)
  if (found === undefined) return renderMissing(token, request, app)

  const { findings, isPinned, profile } = found
  const panels = await app.panels()
  const panel = choosePanel(panels, request)
  const subject = {
    query: request.query,
    findChildren: (of: Profile) => findChildren(app.storage, of),
    findOccurrences: ({ summary }: Profile) => findOccurrences(app.storage, summary),
    findPrevious: (of: Profile) => compareWithPrevious(app.storage, of),
    findTrace: (of: Profile) => findTrace(app.storage, of),
    ...found,
  }
  const wanted = request.query.get('panel') ?? ''
  const unknownPanel = panel?.name === wanted ? '' : wanted
  const rendered = panel && (await renderPanel(panel, subject, request, app))
  const summary = withBadge(toSummaryView(profile.summary), toBadge(findings))
  const model = {
    title: `${summary.status} ${summary.method} ${summary.target}`,
    icon: app.assets.link(summary.tone === 'error' ? 'icon-error.svg' : 'icon.svg'),
    summary,
    controllerPlace: app.editor.viewController(summary.controller),
    routePlace: app.editor.viewFile(app.editor.findRoute(summary.route)),
    answerPlace: viewAnswer(profile, app.editor),
    readyTime: formatDuration(readHandledTime(profile)),
    ...describeRelatives(found, request.query.get('panel') || undefined, app.editor),
    latest: latestLink(request.query.get('panel') || undefined),
    alternates: [
      { type: 'application/json', link: profileDataLink(token, 'json', panel?.name) },
      { type: 'text/markdown', link: profileDataLink(token, 'md', panel?.name) },
    ],
    exports: listExports(profile),
    compareLink: compareWithPreviousLink(token),
    replay: toReplayButton(profile),
    original: describeOriginal(profile),
    isPinned,
    pinLink: changeLink(token, isPinned ? 'unpin' : 'pin', panel?.name ?? ''),
    menu: createMenu(panels, profile, panel),
    unknownPanel,
    label: panel?.label ?? '',
    panel: rendered?.content ?? '',
    isEmpty: rendered?.isEmpty ?? false,
    problem: rendered?.problem ?? '',
    failures: Object.entries(profile.failures).map(([name, message]) => ({ name, message })),
  }
  return renderPage('profiler/profile', model, request, app, unknownPanel === '' ? 200 : 404)
}

/** The panel of the query; without one, or if there is no panel of that name, the first. */
function choosePanel(panels: readonly ProfilePanel[], request: Request): ProfilePanel | undefined {
  const wanted = request.query.get('panel')
  return panels.find(({ name }) => name === wanted) ?? panels[0]
}

/** The original of a replay. */
function describeOriginal(profile: Profile): object | false {
  const token = readOriginal(profile)
  if (token === undefined) return false
  return { token, link: profileLink(token), compareLink: compareLink(token, profile.summary.token) }
}

/** The most sub-requests in the summary above each panel; the request panel has all of them. */
const shownChildren = 25

/** A profile that is no longer stored keeps its link: its page says why. Links to neighbours keep the panel. */
function describeRelatives(found: ShownProfile & Relatives, panel: string | undefined, editor: EditorLinks): object {
  const { newerCount, profile } = found
  const { children, summary } = profile
  const neighbour = (summary: ProfileSummary | undefined) =>
    summary === undefined ? false : { ...toSummaryView(summary), link: profileLink(summary.token, panel) }
  const view = (token: string, summary: ProfileSummary | undefined) => ({
    token,
    link: profileLink(token),
    found: summary === undefined ? false : toSummaryView(summary),
    controllerPlace: editor.viewController(summary?.controller ?? ''),
  })
  return {
    parent: summary.parent === null ? false : view(summary.parent, found.parent),
    subRequests: children.slice(0, shownChildren).map(token =>
      view(
        token,
        found.children.find(child => child.token === token),
      ),
    ),
    moreSubRequests: Math.max(0, children.length - shownChildren),
    older: neighbour(found.older),
    newer: neighbour(found.newer),
    since: newerCount === 0 ? '' : `${formatNumber(newerCount)}${found.hasMore ? '+' : ''} newer`,
    sinceLink: listLink({ start: formatTime(summary.time).iso, limit: '50' }),
  }
}

/** A line of the menu of exports. */
interface ExportEntry {
  readonly label: string
  /** The purpose of the export. */
  readonly note: string
  readonly link: string
}

const exportEntries: Readonly<Record<ExportKind, Omit<ExportEntry, 'link'>>> = {
  har: { label: 'HAR', note: 'HTTP archive for developer tools' },
  curl: { label: 'curl', note: 'Shell command' },
  fetch: { label: 'fetch', note: 'JavaScript snippet' },
  trace: { label: 'Trace', note: 'Timeline for Perfetto' },
  cpuprofile: { label: 'CPU profile', note: 'For developer tools, speedscope' },
  html: { label: 'HTML', note: 'Standalone file' },
  json: { label: 'JSON', note: 'All data' },
}

/** Lists the exports of a profile. */
function listExports(profile: Profile): ExportEntry[] {
  const { token } = profile.summary
  return [
    { label: 'Markdown', note: 'Report as text', link: profileDataLink(token, 'md') },
    ...exportKindsOf(profile).map(kind => ({ link: exportLink(token, kind), ...exportEntries[kind] })),
  ]
}

/** The services that find a profile. */
export type ProfileServices = Pick<ProfilerApplication, 'inspector' | 'storage'> & {
  readonly profiler: Pick<Profiler, 'whenWritten'>
}

/** Finds the profile of a token, with its relatives and findings. */
export async function findProfile(
  token: string,
  { inspector, profiler, storage }: ProfileServices,
): Promise<(ShownProfile & Relatives) | undefined> {
  // The client knows the token of its response before the profile is stored.
  await profiler.whenWritten(token)
  const found = await storage.find(token)
  if (found === undefined) return undefined
  return showProfile(found, storage, await inspector())
}

/** The number of latest profiles, and of those that are searched: browsers ask for icons. */
const latestLimit = 5
const searchLimit = 50

/** Renders the 404 page of an unknown token, with the latest profiles; without a token, of an empty store. */
export async function renderMissing(
  token: string | undefined,
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'storage' | 'view'>,
): Promise<Response> {
  const found = await app.storage.search({ filters: [mainRequests], limit: searchLimit })
  const summaries = found.summaries.filter(summary => !isBrowserProbe(summary)).slice(0, latestLimit)
  const title = token === undefined ? 'No profiles' : 'Token not found'
  const rows = createRows(
    summaries.map(summary => ({ summary, main: summary, depth: 0 })),
    { editor: app.editor },
  )
  const columns = listColumns(selectColumns(summaries))
  return renderPage('profiler/missing', { title, token: token ?? '', columns, rows }, request, app, 404)
}
