import { preferredMediaType } from '../../../../lib/http/negotiation.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { toJson } from '../../export/json.ts'
import { listToJson, listToMarkdown } from '../../export/lists.ts'
import { toMarkdown } from '../../export/markdown.ts'
import { toSpan } from '../../export/markdown-text.ts'
import { parseListRequest } from '../../insight/list-request.ts'
import { findLatest } from '../../insight/relatives.ts'
import { type RowFacts, searchList } from '../../insight/search-list.ts'
import { type ContentData, writeContent } from '../../profile/content.ts'
import { formatValue } from '../../profile/format.ts'
import type { DataForm, ExportKind } from '../../profile/links.ts'
import { formatProfile, listPanels } from '../export-profile.ts'
import { isPage } from '../panels/parts.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { protect, renderPage } from '../respond.ts'
import { toListContext } from './list-page.ts'
import { findProfile, type ProfileServices, renderMissing } from './profile-page.ts'

/** The first is for clients that have no preference. */
const mediaTypes = ['text/html', 'application/json', 'text/markdown'] as const

const forms = { 'text/html': 'html', 'application/json': 'json', 'text/markdown': 'md' } as const

/** Answers in the form that the client prefers: a page, unless it asks for data. */
export async function negotiate(
  { headers }: Request,
  answer: (form: 'html' | DataForm) => Promise<Response>,
): Promise<Response> {
  const response = await answer(forms[preferredMediaType(headers, mediaTypes) ?? 'text/html'])
  response.headers.set('vary', 'Accept')
  return response
}

type DataServices = ProfileServices & Pick<ProfilerApplication, 'panels'>

/** Answers with the data of a profile, or of one panel or collector of it. */
export async function renderProfileData(
  token: string,
  form: DataForm,
  { query }: Request,
  services: DataServices,
): Promise<Response> {
  const found = await findProfile(token, services)
  if (found === undefined) return respondUnknown(form, token)
  const panel = query.get('panel') || undefined
  if (panel !== undefined && !listPanels(await services.panels(), found.profile).includes(panel)) {
    return respondMissing(form, 'The profile has no panel', panel)
  }
  return respondData(form, toJson(found, panel), () => toMarkdown(found, panel))
}

/** Answers with the data of the latest profile. */
export async function renderLatestData(form: DataForm, request: Request, services: DataServices): Promise<Response> {
  const latest = await findLatest(services.storage)
  if (latest === undefined) return respondMissing(form, 'No requests recorded yet.')
  return renderProfileData(latest.token, form, request, services)
}

/** Answers with the results of a search. */
export async function renderListData(
  form: DataForm,
  request: Request,
  facts: RowFacts,
  { storage }: Pick<ProfilerApplication, 'storage'>,
): Promise<Response> {
  const wanted = parseListRequest(request.query)
  const list = listToJson(await searchList(storage, wanted, toListContext(request, facts)), wanted)
  return respondData(form, list, () => listToMarkdown(list))
}

/** The file that contains an exported profile. */
interface ExportFile {
  readonly extension: string
  readonly type: string
  /** The form of the answer when there is no such profile. */
  readonly missing: 'html' | DataForm
}

const json = 'application/json'
// Commands and snippets are plain text, so that no page can run them by embedding them.
const text = 'text/plain; charset=UTF-8'

const files: Readonly<Record<ExportKind, ExportFile>> = {
  har: { extension: 'har', type: json, missing: 'json' },
  curl: { extension: 'sh', type: text, missing: 'md' },
  fetch: { extension: 'mjs', type: text, missing: 'md' },
  trace: { extension: 'trace.json', type: json, missing: 'json' },
  cpuprofile: { extension: 'cpuprofile', type: json, missing: 'json' },
  html: { extension: 'html', type: 'text/html; charset=UTF-8', missing: 'html' },
  json: { extension: 'json', type: json, missing: 'json' },
}

/** Answers with a profile as a file to download. */
export async function exportProfile(
  token: string,
  kind: ExportKind,
  request: Request,
  app: ProfilerApplication,
): Promise<Response> {
  const found = await findProfile(token, app)
  const { extension, missing, type } = files[kind]
  if (found === undefined) {
    return missing === 'html' ? renderMissing(token, request, app) : respondUnknown(missing, token)
  }
  const content = await formatProfile(kind, found, app)
  if (content === undefined) return respondMissing('json', 'The CPU was not sampled during the request', token)
  const headers = {
    'content-type': type,
    'content-disposition': `attachment; filename="profile-${found.profile.summary.token}.${extension}"`,
  }
  return protect(new Response(content, { headers }))
}

/** Answers with data. */
export function respondData(form: DataForm, json: unknown, markdown: () => string): Response {
  return form === 'json' ? protect(Response.json(json)) : respondMarkdown(markdown(), 200)
}

function respondUnknown(form: DataForm, token: string): Response {
  return respondMissing(form, 'There is no such profile: it has expired, was deleted, or never existed:', token)
}

/** As problem details (RFC 9457), or as text. */
function respondMissing(form: DataForm, reason: string, subject = ''): Response {
  if (form === 'md') return respondMarkdown(`# 404 Not Found\n\n${reason}${subject && ` ${toSpan(subject)}`}\n`, 404)
  const detail = `${reason}${subject && ` ${subject}`}`
  const problem = { type: 'about:blank', title: 'Not Found', status: 404, detail }
  return protect(Response.json(problem, { status: 404, headers: { 'content-type': 'application/problem+json' } }))
}

function respondMarkdown(text: string, status: number): Response {
  return protect(new Response(text, { status, headers: { 'content-type': 'text/markdown; charset=UTF-8' } }))
}

/**
 * The policy of a content: its own origin, which has no name, no script, no form, and nothing of other sites. Styles and images
 * of the application are loaded, so that a page looks as it did.
 */
const pagePolicy =
  "sandbox; default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/** The policy of a text. A browser does not ask the application for an icon. */
const textPolicy = "sandbox; default-src 'none'; base-uri 'none'; frame-ancestors 'none'"

/** Responds with the stored content of a response: a page as a preview without scripts, everything else as text. */
export async function renderContent(
  token: string,
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'profiler' | 'storage' | 'view'>,
): Promise<Response> {
  await app.profiler.whenWritten(token)
  const found = await app.storage.find(token)
  if (found === undefined) return renderMissing(token, request, app)
  const content = found.profile.collectors.response?.content
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
