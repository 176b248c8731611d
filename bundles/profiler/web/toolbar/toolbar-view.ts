import type { Collector } from '../../../../kernel/profiler-contract.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { type Overview, summarizeProfile } from '../../insight/overview/overview.ts'
import { toPlainText } from '../../insight/overview/sentence-parts.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { outcomes, type SummaryView, toSummaryView } from '../../insight/summary-view.ts'
import { findThrowFrame } from '../../profile/exceptions.ts'
import type { RedirectData } from '../../profile/exchange-data.ts'
import { shorten, toTarget } from '../../profile/format.ts'
import { readHeader } from '../../profile/format-value.ts'
import { compareWithPreviousLink, home, profileLink } from '../../profile/links.ts'
import { viewAnswer } from '../answer-place.ts'
import { EditorLinks } from '../editor-links.ts'
import { findProfile, type ProfileServices } from '../pages/find-profile.ts'
import type { PanelModel } from '../panels/panel.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { protect } from '../respond.ts'
import { toCollectorItems } from './collector-items.ts'
import { toEditItem } from './edit-item.ts'
import { toConsoleItem, toFindingItem, toLogItem, toValidationItem } from './message-items.ts'
import { toCacheItem, toDatabaseItem } from './query-items.ts'
import { cutText, item, limitRows, row, type ToolbarItem, toBuildItem, toTimeItem } from './toolbar-items.ts'
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
