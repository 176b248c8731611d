import type { Application } from '../../../kernel/bundle.ts'
import { preferredMediaType } from '../../../lib/http/negotiation.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import { RouteCollection } from '../../../lib/routing/route-collection.ts'
import type { SignalMap } from '../../../lib/signals.ts'
import { escapeInvisibleLines, escapeLines } from '../../../lib/text/escapes.ts'
import type { HelperCall, View, ViewModel } from '../../../lib/view/view.ts'
import type { Inspector } from '../insight/findings/inspector.ts'
import type { Replayer } from '../insight/replay/replay.ts'
import type { EditorLinks } from '../panels/editor-links.ts'
import type { SubjectView } from '../panels/subject-view.ts'
import { formatCount } from '../profile/format.ts'
import { type DataForm, home, latestLink, mailsLink, routesLink } from '../profile/links.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { Profiler } from '../record/profiler.ts'
import type { RecordingPolicy } from '../record/recording-policy.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import type { OtherPrograms } from '../store/united-storage.ts'
import type { CpuProfiler } from '../subjects/cpu/record.ts'
import type { Assets } from './assets.ts'

/** The application, with what the profiler adds for its pages and tools. */
export interface ProfilerApplication extends Application {
  readonly profiler: Profiler
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  readonly assets: Assets
  /** Opens the places that the pages name. */
  readonly editor: EditorLinks
  /** Replays recorded requests: those of the kernel in this process, those of another server by sending them to it. */
  readonly replayer: Pick<Replayer, 'replay'>
  readonly cpu: CpuProfiler
  /** Whether the profiles are those of other servers: there are no routes and no console commands of an application. */
  readonly isViewer: boolean
  readonly programs: OtherPrograms
  /** Applies the rules of findings. Their code is loaded with the first call. */
  readonly inspector: () => Promise<Inspector>
  /** The changed files that have mistakes. */
  readonly brokenSources: () => BrokenSources
  /** What is shown of each subject, in the order of the menu. Their code is loaded with the first call. */
  readonly panels: () => Promise<readonly SubjectView[]>
}

/** The services by which the pages find the program of a profile. */
export type ProgramServices = Pick<ProfilerApplication, 'directory' | 'editor' | 'programs'> & {
  readonly storage: Pick<ProfileStorage, 'isShared'>
}

/** The routes of another program: this process does not have them. */
const noRoutes = new RouteCollection()

/**
 * The application whose pages show a profile: its places are in the directory of the program that has recorded it, and
 * its routes are those of that program.
 */
export function ofProgram<app extends ProgramServices>(app: app, summary: ProfileSummary): app {
  const { editor, programs } = app
  const owner = programs.ownerOf(summary.token)
  // In a store of several machines, the directory of another program is not known.
  if (owner === undefined && programs.hasFilesOf(summary)) return app
  const { directory = app.directory } = owner ?? {}
  return { ...app, directory, editor: editor.in(owner?.directory), routes: noRoutes }
}

/** The changed files that cannot be used, and whether the process goes on with an older version of them. */
export type BrokenSources = SignalMap['sources.broken']

/** Sentences about the code that answers requests while files have mistakes. */
export const sourceStates: Readonly<Record<BrokenSources['served'], string>> = {
  current: 'This page is current, and the types are wrong',
  older: 'This page is older than your files',
  nothing: 'The application does not run',
}

/** Renders the template of a whole page, with the links and files that all pages need. */
export async function renderPage(
  template: string,
  model: ViewModel,
  request: Request,
  { assets, view }: Pick<ProfilerApplication, 'assets' | 'view'>,
  status = 200,
): Promise<Response> {
  // Node 20 gives each object whose literal begins with a spread a new hidden class, if more
  // properties follow: 20 µs here.
  const links = { home, latestLink: latestLink(), routesLink: routesLink(), mailsLink, ...filesOf(assets), ...model }
  return protect(Response.html(await view.render(template, links, request), { status }))
}

/** The addresses of the files that each document of the profiler loads. */
export function filesOf(assets: Pick<Assets, 'link'>) {
  return { stylesheet: assets.link('profiler.css'), script: assets.link('profiler.js'), icon: assets.link('icon.svg') }
}

/** Redirects to another page of the profiler; with 303 after a form, so that a reload does not send the form again. */
export function redirect(location: string, status: 302 | 303 = 302): Response {
  return protect(Response.redirect(location, status))
}

const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // Pages that open this page, or are opened by it, get no access to its window.
  'cross-origin-opener-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  // Other sites do not get the address of a profile. The profiler's own forms send it to the profiler.
  'referrer-policy': 'same-origin',
}

/**
 * Adds the headers that isolate a page of the profiler: no recorded text can run or load anything. In
 * JSON, which programs print to terminals, invisible characters become escapes, which mean the same.
 */
export function protect(response: Response): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  const { body } = response
  const isJson = typeof body === 'string' && response.headers.get('content-type')?.includes('json')
  if (isJson) response.body = escapeInvisibleLines(body)
  return response
}

/** The form of an answer: a page, or data for programs. */
export type PageForm = 'html' | DataForm

/** The forms by their media types. The first is for clients that have no preference. */
const forms = { 'text/html': 'html', 'application/json': 'json', 'text/markdown': 'md' } as const

const mediaTypes = ['text/html', 'application/json', 'text/markdown'] as const

/** Answers in the form that the client prefers: a page, unless it asks for data. */
export async function negotiate(request: Request, answer: (form: PageForm) => Promise<Response>): Promise<Response> {
  const response = await answer(forms[preferredMediaType(request.headers, mediaTypes) ?? 'text/html'])
  response.headers.set('vary', 'Accept')
  return response
}

/** The addresses of a page as data, which its head names. */
export function alternatesOf(linkTo: (form: DataForm) => string) {
  const [, ...types] = mediaTypes
  return types.map(type => ({ type, link: linkTo(forms[type]) }))
}

/** Responds with data. */
export function respondData(form: DataForm, json: unknown, markdown: () => string): Response {
  return form === 'json' ? protect(Response.json(json)) : respondMarkdown(markdown(), 200)
}

/** Responds with Markdown. */
export function respondMarkdown(text: string, status: number): Response {
  return protect(
    new Response(escapeLines(text), { status, headers: { 'content-type': 'text/markdown; charset=UTF-8' } }),
  )
}

/** The most rows of a table on a page. */
const rowLimit = 75

/** The most characters of data in these rows: fewer rows are on a page if they are long. */
const sizeLimit = 75_000

/** Characters of a value that a page shows. */
const valueLimit = 1000

/** The length of a line that never breaks. */
const shortLine = 30

/**
 * Adds the helpers that keep the pages of the profiler small, whatever was recorded. Their names
 * are long, because an application may have helpers of its own.
 *
 * `(profilerPage lines 'logs' 'log-')` has the rows of the page that the query names, `?logs=2`, as `rows`,
 * and the links to the other pages, for the template `profiler/row-pages`. `logs` is the id of the table. The
 * optional `log-` is the beginning of the ids of its rows: `?find=log-4` asks for the page with that row. A number
 * behind it is the most rows of a page. If the rows need several pages, those that a filter hides are left out,
 * because a script does not see all rows.
 *
 * `(profilerParts text)` has the parts of a long line, which breaks between them first: after
 * commas, semicolons and slashes.
 *
 * `(profilerFrame link)` is the address of a frame: none where nothing can be loaded.
 *
 * `{{profilerCut text}}` is the beginning of a long text; `(profilerWhole text)` leads to all of it, if it is cut.
 */
export function addSizeHelpers(view: Pick<View, 'addHelper'>): void {
  view.addHelper('profilerPage', choosePage)
  view.addHelper('profilerParts', ({ positional: [text] }) => {
    const line = String(text)
    return line.length < shortLine ? [line] : line.split(/(?<=[,;/])(?=[^\s,;/])/)
  })
  view.addHelper('profilerCut', ({ positional: [text], request }) => {
    const whole = String(text ?? '')
    return hasAddress(request) ? cutValue(whole) : whole
  })
  view.addHelper('profilerWhole', ({ positional: [text], request }) => {
    const isCut = hasAddress(request) && String(text ?? '').length > valueLimit
    return isCut ? `${request.path}.json` : ''
  })
  view.addHelper('profilerFrame', ({ positional: [link], request }) => (hasAddress(request) ? link : ''))
}

/**
 * Whether a page is at an address of the profiler. An error page and a standalone file have
 * nothing else to link to: they are whole.
 */
function hasAddress(request: Request | undefined): request is Request {
  return request?.path.startsWith(home) ?? false
}

/** The beginning of a long text, and how much is missing; a short text as it is. */
export function cutValue(text: string, limit: number = valueLimit): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit).toWellFormed()} … ${formatCount(text.length - limit, 'more character')}`
}

/** A row of a table, as far as its page depends on it. */
interface Row {
  /** The id of its element. */
  readonly id?: string
  /** Its number, for an id such as `log-4`. */
  readonly index?: number
  /** The numbers of all records that the row stands for. */
  readonly ids?: readonly number[]
  readonly again?: readonly number[]
  /** Whether the filter of the query hides it. */
  readonly isHidden?: boolean
}

/** The rows of a page, and the links to the other pages; these are `false` if one page has all rows. */
function choosePage({ positional, request }: HelperCall) {
  const [all = [], table, prefix = '', limit] = positional as [readonly Row[] | undefined, string, string?, number?]
  if (!hasAddress(request) || divideRows(all, limit).length <= 1) return { rows: all, pages: false }
  const parts = divideRows(
    all.filter(({ isHidden }) => !isHidden),
    limit,
  )
  const query = new URLSearchParams(request.query)
  const wanted = query.get('find') ?? ''
  const found = wanted === '' ? -1 : parts.findIndex(rows => rows.some(row => idsOf(row, prefix).includes(wanted)))
  const asked = Math.trunc(Number(query.get(table))) || 1
  const page = found === -1 ? Math.min(Math.max(asked, 1), parts.length) : found + 1
  query.delete('find')
  const linkTo = (page: number) => {
    query.set(table, String(page))
    return `${request.path}?${query}#${table}`
  }
  const rows = parts[page - 1] ?? []
  const before = parts.slice(0, page - 1).reduce((sum, { length }) => sum + length, 0)
  const numbers = rows.length === 0 ? '0' : `${before + 1}–${before + rows.length}`
  const previousLink = page > 1 ? linkTo(page - 1) : ''
  const nextLink = page < parts.length ? linkTo(page + 1) : ''
  return { rows, pages: { table, range: `${numbers} of ${all.length}`, previousLink, nextLink } }
}

/** Divides rows into pages that are within the limits; a page has at least one row. */
function divideRows(rows: readonly Row[], limit: number = rowLimit): Row[][] {
  const pages: Row[][] = []
  let size = 0
  for (const row of rows) {
    const length = JSON.stringify(row).length
    const page = pages.at(-1)
    if (page === undefined || page.length === limit || size + length > sizeLimit) {
      pages.push([row])
      size = length
    } else {
      page.push(row)
      size += length
    }
  }
  return pages
}

function idsOf({ again = [], id = '', ids = [], index }: Row, prefix: string): string[] {
  const numbers = [...(index === undefined ? [] : [index]), ...ids, ...again]
  return [id, ...numbers.map(number => `${prefix}${number}`)]
}
