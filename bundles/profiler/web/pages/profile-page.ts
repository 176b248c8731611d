import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { toSpan } from '../../export/markdown-text.ts'
import { toBadge } from '../../insight/findings/finding.ts'
import { findLatest, type Relatives, type ShownProfile, showProfile } from '../../insight/relatives.ts'
import { toSummaryView } from '../../insight/summary-view.ts'
import { viewAnswer } from '../../panels/answer-place.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import { toHeadBadges } from '../../panels/head-badges.ts'
import { isPage } from '../../panels/parts.ts'
import type { PanelServices } from '../../panels/subject-view.ts'
import { type ContentData, writeContent } from '../../profile/content.ts'
import { nameHandler, readHandledTime } from '../../profile/event-tree.ts'
import { formatDuration, formatNumber, formatTime, formatValue } from '../../profile/format.ts'
import {
  changeLink,
  compareLink,
  compareWithPreviousLink,
  type DataForm,
  type ExportKind,
  exportKindsOf,
  exportLink,
  latestLink,
  listLink,
  profileDataLink,
  profileLink,
} from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import type { Profiler } from '../../record/profiler.ts'
import { readOriginal } from '../../record/recording-policy.ts'
import { readResponseContent } from '../../subjects/exchange/read.ts'
import { readMatchedRoute } from '../../subjects/router/read.ts'
import {
  alternatesOf,
  ofProgram,
  type PageForm,
  type ProfilerApplication,
  type ProgramServices,
  protect,
  renderPage,
  respondData,
  respondMarkdown,
} from '../page.ts'
import { type ListServices, renderMissing } from './list-page.ts'
import { createMenu, createPanelProfile, divideMenu, listPanels, renderPanel, toReplayButton } from './render-panel.ts'

/** The part of the application that shows profiles. */
type ProfileServices = FindServices & PanelServices & ProgramServices & Pick<ProfilerApplication, 'assets' | 'logger'>

/**
 * Renders the page of a profile: its summary, the menu of panels, and the panel of the query,
 * which is the overview by default. As data, the whole profile is the default. If there is no such
 * panel, the answer says so and has the status 404.
 */
export async function renderProfile(
  token: string,
  form: PageForm,
  request: Request,
  services: ProfileServices,
): Promise<Response> {
  const found = await findProfile(token, services)
  if (found === undefined) return respondMissing(token, form, request, services)
  const app = ofProgram(services, found.profile.summary)
  const wanted = request.query.get('panel') ?? ''
  if (form !== 'html') return respondProfile(found, form, wanted || undefined, app)

  const { findings, isPinned, profile } = found
  const panels = await app.panels()
  // Without a panel of that name, the first one is shown.
  const panel = panels.find(({ name }) => name === wanted) ?? panels[0]
  const unknownPanel = panel?.name === wanted ? '' : wanted
  const shown = createPanelProfile(found, request.query, app.storage)
  const rendered = panel && (await renderPanel(panel, shown, request, app))
  const { program } = profile.summary
  const isOnly = found.summaries.every(other => other.program === program)
  const summary = { ...toSummaryView(profile.summary), ...(isOnly && { program: '' }) }
  const isOverview = panel?.name === 'overview'
  const model = {
    title: summary.title,
    icon: app.assets.link(summary.tone === 'error' ? 'icon-error.svg' : 'icon.svg'),
    summary,
    badges: toHeadBadges(profile, toBadge(findings), panels, isOverview),
    handlerLabel: nameHandler(profile),
    controllerPlace: app.editor.viewController(summary.controller),
    routePlace: app.editor.viewFile(app.editor.findRoute(readMatchedRoute(profile))),
    answerPlace: viewAnswer(profile, app.editor),
    readyTime: summary.isExchange ? formatDuration(readHandledTime(profile)) : '',
    ...describeRelatives(found, wanted || undefined, app.editor),
    latest: latestLink(wanted || undefined),
    alternates: alternatesOf(form => profileDataLink(token, form, panel?.name)),
    exports: listExports(profile),
    compareLink: compareWithPreviousLink(token),
    replay: toReplayButton(profile),
    original: describeOriginal(profile),
    isPinned,
    pinLink: changeLink(token, isPinned ? 'unpin' : 'pin', panel?.name ?? ''),
    menu: divideMenu(createMenu(panels, found, panel)),
    unknownPanel,
    label: panel?.label ?? '',
    // Its sentence is its title.
    isOverview,
    panel: rendered?.content ?? '',
    isEmpty: rendered?.isEmpty ?? false,
    unseen: rendered?.unseen ?? [],
    problem: rendered?.problem ?? '',
    failures: Object.entries(profile.failures).map(([name, message]) => ({ name, message })),
  }
  return renderPage('profiler/profile', model, request, app, unknownPanel === '' ? 200 : 404)
}

/** Renders the latest profile. */
export async function renderLatest(form: PageForm, request: Request, app: ProfileServices): Promise<Response> {
  const latest = await findLatest(app.storage)
  return latest === undefined
    ? respondMissing(undefined, form, request, app)
    : renderProfile(latest.token, form, request, app)
}

/** The original of a replay. */
function describeOriginal(profile: Profile) {
  const token = readOriginal(profile)
  if (token === undefined) return false
  return { token, link: profileLink(token), compareLink: compareLink(token, profile.summary.token) }
}

/** The most sub-requests in the summary above each panel; the request panel has all of them. */
const shownChildren = 25

/** A profile that is no longer stored keeps its link: its page says why. Links to neighbours keep the panel. */
function describeRelatives(found: ShownProfile & Relatives, panel: string | undefined, editor: EditorLinks) {
  const { newerCount, profile } = found
  const { children, summary } = profile
  const childOf = new Map(found.children.map(child => [child.token, child]))
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
    subRequests: children.slice(0, shownChildren).map(token => view(token, childOf.get(token))),
    moreSubRequests: Math.max(0, children.length - shownChildren),
    older: neighbour(found.older),
    newer: neighbour(found.newer),
    since: newerCount === 0 ? '' : `${formatNumber(newerCount)}${found.hasMore ? '+' : ''} newer`,
    sinceLink: listLink({ start: formatTime(summary.time).iso, limit: '50' }),
  }
}

const json = 'application/json'
// Commands and snippets are plain text, so that no page can run them by embedding them.
const text = 'text/plain; charset=UTF-8'

/** An export, as the menu names it and as a file. */
interface Export {
  readonly label: string
  readonly note: string
  readonly extension: string
  readonly type: string
  /** The form of the answer if there is no such profile. */
  readonly missing: PageForm
}

const exports: Readonly<Record<ExportKind, Export>> = {
  har: { label: 'HAR', note: 'HTTP archive for developer tools', extension: 'har', type: json, missing: 'json' },
  curl: { label: 'curl', note: 'Shell command', extension: 'sh', type: text, missing: 'md' },
  cpuprofile: {
    label: 'CPU profile',
    note: 'For developer tools, speedscope',
    extension: 'cpuprofile',
    type: json,
    missing: 'json',
  },
  html: {
    label: 'HTML',
    note: 'Standalone file',
    extension: 'html',
    type: 'text/html; charset=UTF-8',
    missing: 'html',
  },
  json: { label: 'JSON', note: 'All data', extension: 'json', type: json, missing: 'json' },
}

function listExports(profile: Profile) {
  const { token } = profile.summary
  return [
    { label: 'Markdown', note: 'Report as text', link: profileDataLink(token, 'md') },
    ...exportKindsOf(profile).map(kind => {
      const { label, note } = exports[kind]
      return { label, note, link: exportLink(token, kind) }
    }),
  ]
}

/** The part of the application that finds a profile. */
export type FindServices = Pick<ProfilerApplication, 'inspector' | 'storage'> & {
  readonly profiler: Pick<Profiler, 'whenStored'>
}

/** Finds the profile of a token, with its relatives and findings. */
export async function findProfile(
  token: string,
  { inspector, profiler, storage }: FindServices,
): Promise<(ShownProfile & Relatives) | undefined> {
  // The client knows the token of its response before the profile is stored.
  await profiler.whenStored(token)
  const found = await storage.find(token)
  if (found === undefined) return undefined
  return showProfile(found, storage, await inspector())
}

/** Answers with the data of a profile, or of one panel or collector of it. */
async function respondProfile(
  found: ShownProfile,
  form: DataForm,
  panel: string | undefined,
  app: Pick<ProfilerApplication, 'panels'>,
): Promise<Response> {
  if (panel !== undefined && !listPanels(await app.panels(), found.profile).includes(panel)) {
    return respondProblem(form, 'The profile has no panel', panel)
  }
  const [{ toJson }, { toMarkdown }] = await Promise.all([
    import('../../export/json.ts'),
    import('../../export/markdown.ts'),
  ])
  return respondData(form, toJson(found, panel), () => toMarkdown(found, panel))
}

/** Answers that there is no such profile; without a token, that the store is empty. */
function respondMissing(
  token: string | undefined,
  form: PageForm,
  request: Request,
  app: ProfileServices,
): Response | Promise<Response> {
  if (form === 'html') return renderMissing(token, request, app)
  if (token === undefined) return respondProblem(form, 'No requests recorded yet.')
  return respondProblem(form, 'There is no such profile: it has expired, was deleted, or never existed:', token)
}

/** Answers with a 404 as problem details (RFC 9457), or as text. */
function respondProblem(form: DataForm, reason: string, name = ''): Response {
  if (form === 'md') return respondMarkdown(`# 404 Not Found\n\n${reason}${name && ` ${toSpan(name)}`}\n`, 404)
  const detail = `${reason}${name && ` ${name}`}`
  const problem = { type: 'about:blank', title: 'Not Found', status: 404, detail }
  return protect(Response.json(problem, { status: 404, headers: { 'content-type': 'application/problem+json' } }))
}

/** Answers with a profile as a file to download. */
export async function exportProfile(
  token: string,
  kind: ExportKind,
  request: Request,
  app: ProfilerApplication,
): Promise<Response> {
  const found = await findProfile(token, app)
  const { extension, missing, type } = exports[kind]
  if (found === undefined) return respondMissing(token, missing, request, app)
  const { formatProfile } = await import('../export-profile.ts')
  const content = await formatProfile(kind, found, app)
  if (content === undefined) return respondProblem('json', 'The CPU was not sampled during the request', token)
  const headers = {
    'content-type': type,
    'content-disposition': `attachment; filename="profile-${found.profile.summary.token}.${extension}"`,
  }
  return protect(new Response(content, { headers }))
}

/**
 * The policy of a content: its own origin, which has no name, no script, no form, and nothing of
 * other sites. Styles and images of the application are loaded, so that a page looks as it did.
 */
const pagePolicy =
  "sandbox; default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/** The policy of a text: with it, a browser does not ask the application for an icon. */
const textPolicy = "sandbox; default-src 'none'; base-uri 'none'; frame-ancestors 'none'"

/** Responds with the stored content of a response: a page as a preview without scripts, everything else as text. */
export async function renderContent(
  token: string,
  request: Request,
  app: ListServices & Pick<ProfilerApplication, 'profiler'>,
): Promise<Response> {
  await app.profiler.whenStored(token)
  const found = await app.storage.find(token)
  if (found === undefined) return renderMissing(token, request, app)
  const content = readResponseContent(found.profile)
  const text = content === undefined ? '' : readText(content)
  if (content === undefined || text === '') {
    const lead = `The profile "${token}" has no content of the response.`
    return renderPage('profiler/compare-none', { title: 'No content', lead }, request, app, 404)
  }
  const response = protect(isPage(content) ? Response.html(text) : Response.text(text))
  response.headers.set('content-security-policy', isPage(content) ? pagePolicy : textPolicy)
  return response
}

/** JSON is indented: its spaces are not stored. */
function readText(content: ContentData): string {
  return content.json === undefined ? writeContent(content) : formatValue(content.json[0])
}
