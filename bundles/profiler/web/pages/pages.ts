import { createHash } from 'node:crypto'
import { routeParameter } from '../../../../kernel/argument-sources.ts'
import type { SourceProblem } from '../../../../kernel/bundle.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { knownMethods } from '../../../../lib/http/request-target.ts'
import { Response } from '../../../../lib/http/response.ts'
import { readTime } from '../../../../lib/own-globals.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import type { Argument } from '../../../../lib/routing/sources.ts'
import { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import { asIntegerFrom } from '../../../../lib/text/conversion.ts'
import { startLimit } from '../../insight/list-request.ts'
import { pinFamily, RowFacts } from '../../insight/search-list.ts'
import { findAnswerPlace } from '../../panels/answer-place.ts'
import { viewSource } from '../../panels/exceptions.ts'
import { formatCount, formatTime, toOption } from '../../profile/format.ts'
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
import { isOwnProgram } from '../../record/recording-policy.ts'
import { parseReports } from '../../subjects/browser/data.ts'
import { BrowserErrors } from '../../subjects/browser/record.ts'
import {
  ArmFile,
  type CpuTarget,
  createArming,
  describeTarget,
  readTarget,
  type WantedTarget,
} from '../../subjects/cpu/record.ts'
import { PROFILER_FILE_CLOSED } from '../errors.ts'
import {
  negotiate,
  ofProgram,
  type PageForm,
  type ProfilerApplication,
  protect,
  redirect,
  renderPage,
  respondData,
  sourceStates,
} from '../page.ts'

/** Answers a request for a page. */
export type Page = (request: Request) => Response | Promise<Response>

/** The pages of the profiler, by the names in `routes.ts`. */
export type Pages = ReturnType<typeof createPages>

/** Creates the pages. The code of most of them is loaded with their first request. */
export function createPages(app: ProfilerApplication) {
  const { cpu, policy, storage } = app
  const facts = new RowFacts({
    ...app,
    findPlace: profile => findAnswerPlace(profile, ofProgram(app, profile.summary).editor),
  })
  const browserErrors = new BrowserErrors(app)
  const setPaused = (isPaused: boolean) => {
    policy.isPaused = isPaused
    return redirect(home, 303)
  }
  return {
    // These change something. Most of them then redirect to a page with 303.
    async purge() {
      await storage.purge()
      return redirect(home, 303)
    },
    pause: () => setPaused(true),
    resume: () => setPaused(false),
    pin: request => pin(request, true, app),
    unpin: request => pin(request, false, app),
    async replay(request) {
      const { replay } = await import('./replay-page.ts')
      return replay(await token(request), request, app)
    },
    async verify(request) {
      const { verifyFix } = await import('./replay-page.ts')
      return verifyFix(await token(request), request, app)
    },
    armCpu: request => armCpu(request, app),
    async disarmCpu() {
      cpu.disarm()
      for (const { file } of await listSampling(app)) file.remove()
      return redirect(cpuLink, 303)
    },
    async openEditor(request) {
      const { openEditor } = await import('../open-editor.ts')
      return openEditor(request, app)
    },
    browserErrors: async request => takeBrowserErrors(await token(request), request, browserErrors, app),
    // These only read.
    home: () => redirect(listLink({ limit: String(startLimit) })),
    async search(request) {
      const { search } = await import('./list-page.ts')
      return search(request, facts, app)
    },
    list: inForms(async (form, request) => {
      const { renderList } = await import('./list-page.ts')
      return renderList(form, request, facts, app)
    }),
    latest: inForms(async (form, request) => {
      const { renderLatest } = await import('./profile-page.ts')
      return renderLatest(form, request, app)
    }),
    profile: inForms(async (form, request) => {
      const { renderProfile } = await import('./profile-page.ts')
      return renderProfile(await token(request), form, request, app)
    }),
    async export(request) {
      const { exportProfile } = await import('./profile-page.ts')
      return exportProfile(await token(request), await kind(request), request, app)
    },
    async content(request) {
      const { renderContent } = await import('./profile-page.ts')
      return renderContent(await token(request), request, app)
    },
    async compare(request) {
      const { renderCompare } = await import('./compare-page.ts')
      return renderCompare(request, app)
    },
    async replayForm(request) {
      const { renderReplay } = await import('./replay-page.ts')
      return renderReplay(await token(request), request, app)
    },
    async route(request) {
      const { renderRoute } = await import('./routes-page.ts')
      return renderRoute(request, app)
    },
    routes: inForms(async (form, request) => {
      const { renderRoutes } = await import('./routes-page.ts')
      return renderRoutes(form, request, facts, app)
    }),
    mails: inForms(async (form, request) => {
      const { renderMails } = await import('./mails-page.ts')
      return renderMails(form, request, app)
    }),
    async mail(request) {
      const { renderMail } = await import('./mails-page.ts')
      return renderMail(await token(request), await mailIndex(request), request, app)
    },
    cpu: request => renderCpu(request, app),
    async palette(request) {
      const { renderPalette } = await import('./palette-page.ts')
      return renderPalette(request, app)
    },
    broken: request => renderBroken(request, app),
    async toolbar(request) {
      const { renderToolbar } = await import('../toolbar/toolbar-view.ts')
      return renderToolbar(await token(request), request, app)
    },
    openFile({ query }) {
      // The profile contains excerpts of the sources. No file is opened for a request.
      throw new PROFILER_FILE_CLOSED([query.get('file') ?? ''])
    },
  } satisfies Readonly<Record<string, Page>>
}

const token = routeParameter('token')

const mailIndex: Argument<number> = routeParameter('index', asIntegerFrom(0, 999))

const form: Argument<DataForm> = routeParameter('form', {
  expected: dataForms.join(' or '),
  convert: text => dataForms.find(form => form === text),
})

const kind: Argument<ExportKind> = routeParameter('kind', {
  expected: `one of ${exportKinds.join(', ')}`,
  convert: text => exportKinds.find(kind => kind === text),
})

/**
 * Creates a page that programs can read: in the form that its address ends with, or else in the
 * one that the client prefers.
 */
function inForms(answer: (form: PageForm, request: Request) => Promise<Response>): Page {
  return async request =>
    request.attributes.get('_route_params')?.form !== undefined
      ? answer(await form(request), request)
      : negotiate(request, form => answer(form, request))
}

async function pin(request: Request, isPinned: boolean, app: ProfilerApplication): Promise<Response> {
  const wanted = await token(request)
  if (!(await pinFamily(app.storage, wanted, isPinned))) {
    const { renderMissing } = await import('./list-page.ts')
    return renderMissing(wanted, request, app)
  }
  const list = request.query.get('list')
  if (list !== null) return redirect(listLink(Object.fromEntries(new URLSearchParams(list))), 303)
  return redirect(profileLink(wanted, request.query.get('panel') || undefined), 303)
}

/**
 * Renders the changed files that cannot be used, each with its message and its source. A script
 * asks each second whether the answer has another version, and then loads the page again. When all
 * files are corrected, it redirects to the page that the toolbar was on. Programs get the messages as data.
 */
async function renderBroken(request: Request, app: ProfilerApplication): Promise<Response> {
  const { problems, served } = app.brokenSources()
  const mistakes = problems.map(problem => viewProblem(problem, app))
  const [first, ...others] = mistakes
  if (first === undefined) return redirect(findTarget(request))
  const version = createHash('sha256').update(JSON.stringify(problems)).digest('hex').slice(0, 12)
  const heading = sourceStates[served]
  const count = formatCount(problems.length, served === 'current' ? 'type error' : 'mistake')
  const back = served === 'nothing' ? '' : findTarget(request)
  const model = { title: heading, heading, count, first, others, version, poll: brokenLink(), back }
  const said = mistakes.map(({ message, place }) => ({ message, place: place.place }))
  const response = await negotiate(request, async form => {
    if (form === 'html') return renderPage('profiler/broken', model, request, app)
    const lines = said.map(({ message, place }) => `- ${place === '' ? '' : `${place}: `}${message}\n`)
    return respondData(form, { title: heading, mistakes: said }, () => `# ${heading}\n\n${lines.join('')}`)
  })
  response.status = served === 'nothing' ? 503 : 200
  response.headers.set('x-sources', version)
  response.headers.set('cache-control', 'no-store')
  return response
}

/** The page that the toolbar was on. It is a path of this origin. */
function findTarget({ query }: Request): string {
  const target = query.get('page') ?? ''
  // Browsers leave out tabs and line breaks, and read a backslash as a slash.
  return /^\/(?![/\\])[^\s\p{Cc}]*$/u.test(target) ? target : home
}

function viewProblem({ column = 1, file, line = 1, message }: SourceProblem, app: ProfilerApplication) {
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
  { profiler }: ProfilerApplication,
): Promise<Response> {
  const reports = parseReports(await request.json())
  // The page may report errors before its profile is stored.
  await profiler.whenStored(token)
  return protect(new Response(null, { status: statuses[await errors.add(token, reports, request.origin)] }))
}

/** Finds the other programs, which sample their own requests, by the file of their orders. */
function listSampling({ programs }: ProfilerApplication) {
  return programs.list().map(program => {
    const { armFile, id } = program
    return { id, name: programs.nameOf(program), file: new ArmFile(armFile) }
  })
}

/**
 * Renders the page that says which request will be sampled, and has the form that chooses another
 * one. `problem` is why the target of the form, `asked`, cannot be sampled.
 */
async function renderCpu(
  request: Request,
  app: ProfilerApplication,
  asked?: WantedTarget & { readonly program?: string | undefined },
  problem = '',
): Promise<Response> {
  const others = listSampling(app)
  const orders = others.flatMap(({ file, name }) => {
    const arming = file.read()
    return arming !== undefined && arming.until > readTime() ? { ...arming, name } : []
  })
  const { last } = app.cpu
  const ownName = app.programs.nameOf()
  const armed = app.cpu.armed === undefined ? orders[0] : { ...app.cpu.armed, name: ownName }
  const ofProgram = others.length === 0 ? '' : ` in ${armed?.name}`
  // By the convention of Symfony, the names of internal routes begin with a low line.
  const isInternal = ({ name }: Route) => Number(name.startsWith('_'))
  const shown = shownRoutes(app.routes).sort((a, b) => isInternal(a) - isInternal(b))
  const linkOf = (target: CpuTarget) => {
    // The pages of a viewer have another address than its programs.
    if ('path' in target) return target.method === 'GET' && !app.isViewer ? target.path : ''
    // Another process may have armed the CPU profiler for a route that this process does not have.
    const route = app.routes.find(target.route)
    return route === undefined ? '' : visitLink(route)
  }
  const model = {
    title: 'CPU profile',
    problem,
    page: cpuLink,
    // Frameworks name their routes after the request has begun.
    isViewer: app.isViewer,
    hasConsole: !app.isViewer && !isOwnProgram(app.directory),
    armed: armed && {
      text: `${describeTarget(armed.target)}${ofProgram}`,
      until: formatTime(armed.until),
      visit: linkOf(armed.target),
    },
    last: last === undefined ? false : { token: last, link: profileLink(last, 'cpu') },
    latest: latestLink('cpu'),
    routes: shown.map(({ name, path }) => toOption(name, `${name} – ${path.source}`, asked?.route)),
    methods: knownMethods.map(name => toOption(name, name, asked?.method ?? 'GET')),
    programs:
      others.length > 0 &&
      [{ id: '', name: ownName }, ...others].map(({ id, name }) => toOption(id, name, asked?.program)),
    asked: asked?.path ?? '',
  }
  return renderPage('profiler/cpu', model, request, app, problem === '' ? 200 : 422)
}

/** Arms the CPU profiler for the target that the form names; renders the page again if that is not possible. */
async function armCpu(request: Request, app: ProfilerApplication): Promise<Response> {
  const form = await request.formData()
  const read = (name: string) => {
    const value = form.get(name)
    return typeof value === 'string' ? value : undefined
  }
  const wanted = { route: read('route'), method: read('method'), path: read('path') }
  // The page of a profile names the profile, which has its program.
  const program = read('program') ?? app.programs.ownerOf(read('token') ?? '')?.id
  const target = readTarget(wanted, app.routes)
  if (typeof target === 'string') return renderCpu(request, app, { ...wanted, program }, target)
  const owner = listSampling(app).find(({ id }) => id === program)
  if (owner === undefined) app.cpu.arm(target)
  else owner.file.write(createArming(target, readTime()))
  return redirect(cpuLink, 303)
}
