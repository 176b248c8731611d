import type { Collector, CollectorToolbarItem } from '../../../../kernel/profiler-contract.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { summarizeProfile, toPlainText } from '../../insight/overview/overview.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { type SummaryView, toSummaryView } from '../../insight/summary-view.ts'
import { formatValue } from '../../profile/format.ts'
import { compareWithPreviousLink, home, profileLink } from '../../profile/links.ts'
import { itemMakers } from '../../subjects/views.ts'
import { EditorLinks } from '../editor-links.ts'
import { type ProfilerApplication, protect } from '../page.ts'
import { type FindServices, findProfile } from '../pages/profile-page.ts'
import { labelCollector } from '../panels/load-panels.ts'
import type { PanelModel } from '../panels/panel.ts'
import { cutText, item, limitRows, row, type ToolbarItem, toBuildItem } from './toolbar-items.ts'
import { pausedToken } from './toolbar-listener.ts'

/** Renders the content of a toolbar. If the profile does not exist, the answer is an empty 404, as in Symfony. */
export async function renderToolbar(
  token: string,
  request: Request,
  app: FindServices & Pick<ProfilerApplication, 'brokenSources' | 'collectors' | 'editor' | 'policy' | 'view'>,
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
    const rows = Object.entries(details).map(([name, value]) => row(name, cutText(formatValue(value))))
    return item(name, labelCollector(collector), {
      text: cutText(formatValue(text)),
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
