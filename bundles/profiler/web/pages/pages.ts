import { createHash } from 'node:crypto'
import { routeParameter } from '../../../../kernel/argument-sources.ts'
import type { SourceProblem } from '../../../../kernel/bundle.ts'
import type { Argument } from '../../../../kernel/controller.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { knownMethods } from '../../../../lib/http/request-target.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import { parseListRequest, searchParameters, startLimit } from '../../insight/list-request.ts'
import { findLatest } from '../../insight/relatives.ts'
import { pinFamily, RowFacts, searchList } from '../../insight/search-list.ts'
import { formatCount, formatTime } from '../../profile/format.ts'
import {
  brokenLink,
  cpuLink,
  type DataForm,
  dataForms,
  type ExportKind,
  exportKinds,
  home,
  latestLink,
  listLink,
  profileLink,
  shownRoutes,
  visitLink,
} from '../../profile/links.ts'
import type { Profiler } from '../../record/profiler.ts'
import { parseReports } from '../../subjects/browser/data.ts'
import { BrowserErrors } from '../../subjects/browser/record.ts'
import { type CpuTarget, describeTarget, readTarget, type WantedTarget } from '../../subjects/cpu/record.ts'
import { findAnswerPlace } from '../answer-place.ts'
import { PROFILER_FILE_CLOSED } from '../errors.ts'
import { viewSource } from '../exceptions.ts'
import { openEditor } from '../open-editor.ts'
import { type ProfilerApplication, sourceStates } from '../profiler-application.ts'
import { protect, redirect, renderPage } from '../respond.ts'
import { renderToolbar } from '../toolbar/toolbar-view.ts'
import { renderCompare } from './compare-page.ts'
import {
  exportProfile,
  negotiate,
  renderContent,
  renderLatestData,
  renderListData,
  renderProfileData,
} from './data-pages.ts'
import { renderList, toListContext } from './list-page.ts'
import { renderPalette } from './palette-page.ts'
import { renderMissing, renderProfile } from './profile-page.ts'
import { renderReplay, replay, verifyFix } from './replay-page.ts'
import { renderRoute, renderRoutes } from './routes-page.ts'

/** Answers a request for a page. */
export type Page = (request: Request) => Response | Promise<Response>

/** The pages of the profiler, by the names in `routes.ts`. */
export interface Pages {
  /** These change something, then redirect to a page with 303. */
  readonly purge: Page
  readonly pause: Page
  readonly resume: Page
  readonly pin: Page
  readonly unpin: Page
  readonly replay: Page
  /** Replays a request, and answers whether a flaw is gone. */
  readonly verify: Page
  readonly armCpu: Page
  readonly disarmCpu: Page
  /** Opens a place in the editor of the client. */
  readonly openEditor: Page
  /** Takes the errors of a page in the browser. */
  readonly browserErrors: Page
  /** These only read. */
  readonly home: Page
  readonly search: Page
  readonly list: Page
  readonly listData: Page
  readonly latest: Page
  readonly latestData: Page
  readonly profile: Page
  readonly profileData: Page
  readonly export: Page
  readonly content: Page
  readonly compare: Page
  readonly replayForm: Page
  readonly route: Page
  readonly routes: Page
  readonly routesData: Page
  readonly cpu: Page
  readonly palette: Page
  readonly broken: Page
  readonly toolbar: Page
  readonly openFile: Page
}

const token = routeParameter('token')

const form: Argument<DataForm> = routeParameter('form', {
  expected: dataForms.join(' or '),
  convert: text => dataForms.find(form => form === text),
})

const kind: Argument<ExportKind> = routeParameter('kind', {
  expected: `one of ${exportKinds.join(', ')}`,
  convert: text => exportKinds.find(kind => kind === text),
})

/** Creates the pages. Importing this module loads the code of all pages. */
export function createPages(app: ProfilerApplication): Pages {
  const { cpu, policy, storage } = app
  const facts = new RowFacts({ ...app, findPlace: profile => findAnswerPlace(profile, app.editor) })
  const browserErrors = new BrowserErrors(app)
  const setPaused = (isPaused: boolean) => {
    policy.isPaused = isPaused
    return redirect(home, 303)
  }
  return {
    async purge() {
      await storage.purge()
      return redirect(home, 303)
    },
    pause: () => setPaused(true),
    resume: () => setPaused(false),
    pin: request => pin(request, true, app),
    unpin: request => pin(request, false, app),
    replay: async request => replay(await token(request), request, app),
    verify: async request => verifyFix(await token(request), request, app),
    armCpu: request => armCpu(request, app),
    disarmCpu() {
      cpu.disarm()
      return redirect(cpuLink, 303)
    },
    openEditor: request => openEditor(request, app),
    browserErrors: async request => takeBrowserErrors(await token(request), request, browserErrors, app),
    home: () => redirect(listLink({ limit: String(startLimit) })),
    search: request => search(request, facts, app),
    list: request =>
      negotiate(request, form =>
        form === 'html' ? renderList(request, facts, app) : renderListData(form, request, facts, app),
      ),
    listData: async request => renderListData(await form(request), request, facts, app),
    latest: request =>
      negotiate(request, form => (form === 'html' ? renderLatest(request, app) : renderLatestData(form, request, app))),
    latestData: async request => renderLatestData(await form(request), request, app),
    profile: request =>
      negotiate(request, async form => {
        const wanted = await token(request)
        return form === 'html' ? renderProfile(wanted, request, app) : renderProfileData(wanted, form, request, app)
      }),
    profileData: async request => renderProfileData(await token(request), await form(request), request, app),
    export: async request => exportProfile(await token(request), await kind(request), request, app),
    content: async request => renderContent(await token(request), request, app),
    compare: request => renderCompare(request, app),
    replayForm: async request => renderReplay(await token(request), request, app),
    route: request => renderRoute(request, app),
    routes: request => negotiate(request, form => renderRoutes(form, request, facts, app)),
    routesData: async request => renderRoutes(await form(request), request, facts, app),
    cpu: request => renderCpu(request, app),
    palette: request => renderPalette(request, app),
    broken: request => renderBroken(request, app),
    toolbar: async request => renderToolbar(await token(request), request, app),
    openFile({ query }) {
      // The profile contains excerpts of the sources. No file is opened for a request.
      throw new PROFILER_FILE_CLOSED([query.get('file') ?? ''])
    },
  }
}

async function pin(request: Request, isPinned: boolean, app: ProfilerApplication): Promise<Response> {
  const wanted = await token(request)
  if (!(await pinFamily(app.storage, wanted, isPinned))) return renderMissing(wanted, request, app)
  const list = request.query.get('list')
  if (list !== null) return redirect(listLink(Object.fromEntries(new URLSearchParams(list))), 303)
  return redirect(profileLink(wanted, request.query.get('panel') || undefined), 303)
}

async function renderLatest(request: Request, app: ProfilerApplication): Promise<Response> {
  const latest = await findLatest(app.storage)
  return latest === undefined ? renderMissing(undefined, request, app) : renderProfile(latest.token, request, app)
}

const symfonyParameters: readonly string[] = searchParameters.slice(0, searchParameters.indexOf('type'))

/** Redirects to the profile if the form has a token, otherwise to the list; its address contains the first result. */
async function search(request: Request, facts: RowFacts, app: ProfilerApplication): Promise<Response> {
  const token = request.query.get('token')?.trim()
  if (token) return /^\w+$/.test(token) ? redirect(profileLink(token)) : renderMissing(token, request, app)
  const wanted = parseListRequest(request.query)
  const query = { ...wanted.query, offset: 0, limit: 1 }
  const { profiles } = await searchList(app.storage, { ...wanted, query }, toListContext(request, facts))
  const { type = 'request', ...others } = wanted.parameters
  const isSymfonys = ([name]: [string, string]) => symfonyParameters.includes(name)
  const given = Object.entries(others)
  const [theirs, ours] = [given.filter(isSymfonys), given.filter(each => !isSymfonys(each))]
  return redirect(listLink(Object.fromEntries([...theirs, ['type', type], ...ours]), profiles[0]?.summary.token))
}

type BrokenPageServices = Pick<
  ProfilerApplication,
  'assets' | 'brokenSources' | 'directory' | 'editor' | 'redactor' | 'view'
>

/**
 * Renders the changed files that cannot be used, each with its message and its source. A script asks each second whether the
 * answer has another version, and then loads the page again. When all is corrected, it leads to the page it was opened from.
 */
async function renderBroken(request: Request, app: BrokenPageServices): Promise<Response> {
  const { problems, served } = app.brokenSources()
  const [first, ...others] = problems.map(problem => viewProblem(problem, app))
  if (first === undefined) return redirect(findTarget(request))
  const version = createHash('sha256').update(JSON.stringify(problems)).digest('hex').slice(0, 12)
  const heading = sourceStates[served]
  const model = {
    title: heading,
    heading,
    count: formatCount(problems.length, served === 'current' ? 'type error' : 'mistake'),
    first,
    others,
    version,
    poll: brokenLink(),
    back: served === 'nothing' ? '' : findTarget(request),
  }
  const response = await renderPage('profiler/broken', model, request, app, served === 'nothing' ? 503 : 200)
  response.headers.set('x-sources', version)
  response.headers.set('cache-control', 'no-store')
  return response
}

/** The page that the toolbar was on: a path of this origin. */
function findTarget({ query }: Request): string {
  const target = query.get('page') ?? ''
  // Browsers leave out tabs and line breaks, and read a backslash as a slash.
  return /^\/(?![/\\])[^\s\p{Cc}]*$/u.test(target) ? target : home
}

function viewProblem({ column = 1, file, line = 1, message }: SourceProblem, app: BrokenPageServices) {
  const { directory, editor, redactor } = app
  // A new reader: the file changes while the page is open.
  const excerpt = file === undefined ? undefined : new SourceExcerpts(directory, redactor).find(file, line)
  const lines = viewSource(excerpt && { file: file ?? '', line, ...excerpt }).flatMap(shown =>
    shown.isMarked ? [shown, toMarker(shown.tokens.map(({ text }) => text).join(''), column)] : [shown],
  )
  return {
    message: redactor.text(message),
    lines,
    place: file === undefined ? editor.viewName('') : editor.view({ file, line, column }),
  }
}

/** A line with a mark below the column. */
function toMarker(text: string, column: number) {
  const before = text.slice(0, column - 1).replace(/[^\t]/g, ' ')
  return { number: '', isMarked: true, tokens: [{ kind: 'keyword', text: `${before}^` }] }
}

const statuses = { added: 204, unknown: 404, busy: 429 } as const

/**
 * Adds the errors that a page reports to its profile. The answer has no body. @throws BODY_TOO_LARGE (413)
 * BODY_JSON_INVALID (400) BODY_TYPE_UNSUPPORTED (415)
 */
async function takeBrowserErrors(
  token: string,
  request: Request,
  errors: BrowserErrors,
  { profiler }: { readonly profiler: Pick<Profiler, 'whenWritten'> },
): Promise<Response> {
  const reports = parseReports(await request.json())
  // The page may report errors before its profile is stored.
  await profiler.whenWritten(token)
  return protect(new Response(null, { status: statuses[await errors.add(token, reports, request.origin)] }))
}

type CpuPageServices = Pick<ProfilerApplication, 'assets' | 'cpu' | 'routes' | 'view'>

/** A target that cannot be sampled, and the reason. */
interface RefusedTarget extends WantedTarget {
  readonly problem: string
}

/** Renders the page that says which request will be sampled, and has the form that chooses another. */
function renderCpu(request: Request, app: CpuPageServices, refused?: RefusedTarget): Promise<Response> {
  const { armed, last } = app.cpu
  const shown = shownRoutes(app.routes).sort((a, b) => Number(isInternal(a)) - Number(isInternal(b)))
  const linkOf = (target: CpuTarget) => {
    if ('path' in target) return target.method === 'GET' ? target.path : ''
    // Another process may have armed the CPU profiler for a route that this process does not have.
    const route = app.routes.find(target.route)
    return route === undefined ? '' : visitLink(route)
  }
  const model = {
    title: 'CPU profile',
    problem: refused?.problem ?? '',
    page: cpuLink,
    armed: armed && {
      text: describeTarget(armed.target),
      until: formatTime(armed.until),
      visit: linkOf(armed.target),
    },
    last: last === undefined ? false : { token: last, link: profileLink(last, 'cpu') },
    latest: latestLink('cpu'),
    routes: shown.map(({ name, path }) => ({ name, pattern: path.source, isSelected: name === refused?.route })),
    methods: knownMethods.map(name => ({ name, isSelected: name === (refused?.method ?? 'GET') })),
    asked: refused?.path ?? '',
  }
  return renderPage('profiler/cpu', model, request, app, refused === undefined ? 200 : 422)
}

/** By the convention of Symfony. */
function isInternal({ name }: Route): boolean {
  return name.startsWith('_')
}

/** Arms the CPU profiler for the target that the form names; renders the page again if that is not possible. */
export async function armCpu(request: Request, app: CpuPageServices): Promise<Response> {
  const wanted = await readForm(request)
  const target = readTarget(wanted, app.routes)
  if (typeof target === 'string') return renderCpu(request, app, { ...wanted, problem: target })
  app.cpu.arm(target)
  return redirect(cpuLink, 303)
}

async function readForm(request: Request): Promise<WantedTarget> {
  const form = await request.formData()
  const read = (name: string) => {
    const value = form.get(name)
    return typeof value === 'string' ? value : undefined
  }
  return { route: read('route'), method: read('method'), path: read('path') }
}
