import { routeParameter } from '../../../../kernel/argument-sources.ts'
import type { Argument } from '../../../../kernel/controller.ts'
import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import { parseListRequest, searchParameters, startLimit } from '../../insight/list-request.ts'
import { findLatest } from '../../insight/relatives.ts'
import { pinFamily, RowFacts, searchList } from '../../insight/search-list.ts'
import {
  cpuLink,
  type DataForm,
  dataForms,
  type ExportKind,
  exportKinds,
  home,
  listLink,
  profileLink,
} from '../../profile/links.ts'
import { BrowserErrors } from '../../subjects/browser/record.ts'
import { findAnswerPlace } from '../answer-place.ts'
import { PROFILER_FILE_CLOSED } from '../errors.ts'
import { openEditor } from '../open-editor.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { redirect } from '../respond.ts'
import { renderToolbar } from '../toolbar/toolbar-view.ts'
import { renderBroken } from './broken-page.ts'
import { takeBrowserErrors } from './browser-errors-page.ts'
import { renderCompare } from './compare-page.ts'
import { renderContent } from './content-page.ts'
import { armCpu, renderCpu } from './cpu-page.ts'
import { exportProfile, negotiate, renderLatestData, renderListData, renderProfileData } from './data-pages.ts'
import { renderMissing } from './find-profile.ts'
import { renderList, toListContext } from './list-page.ts'
import { renderPalette } from './palette-page.ts'
import { renderProfile } from './profile-page.ts'
import { renderReplay, replay } from './replay-page.ts'
import { renderRoute } from './route-page.ts'
import { renderRoutes } from './routes-page.ts'
import { verifyFix } from './verify-page.ts'

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
