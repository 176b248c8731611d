import type { SourceProblem } from '../../../../kernel/bundle.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { toneOf } from '../../insight/findings/finding.ts'
import { summarizeProfile } from '../../insight/overview/overview.ts'
import { toPlainText } from '../../insight/overview/sentence.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { type SummaryView, toSummaryView } from '../../insight/summary-view.ts'
import { EditorLinks } from '../../panels/editor-links.ts'
import type { PanelModel, SubjectView } from '../../panels/subject-view.ts'
import { cutText, item, limitRows, row, type ToolbarItem } from '../../panels/toolbar-items.ts'
import { formatCount, shorten, toOneLine } from '../../profile/format.ts'
import { brokenLink, home } from '../../profile/links.ts'
import { profilerSettings } from '../../settings.ts'
import { subjectViews } from '../../subjects/views.ts'
import { type BrokenSources, type ProfilerApplication, protect, sourceStates } from '../page.ts'
import { type FindServices, findProfile } from '../pages/profile-page.ts'
import { pausedToken } from './page-toolbar.ts'

/** Renders the content of a toolbar. If the profile does not exist, the answer is an empty 404, as in Symfony. */
export async function renderToolbar(
  token: string,
  request: Request,
  app: FindServices & Pick<ProfilerApplication, 'brokenSources' | 'editor' | 'panels' | 'policy' | 'settings' | 'view'>,
): Promise<Response> {
  if (token === pausedToken && app.policy.isPaused) {
    return protect(Response.html(await app.view.render('profiler/toolbar-paused', { home }, request)))
  }
  const found = await findProfile(token, app)
  if (found === undefined) return protect(new Response(null, { status: 404 }))
  const view = toToolbarView(found, await app.panels(), app)
  // A browser asks whether to send a form again.
  const isReloaded = app.settings.of(profilerSettings).PROFILER_RELOAD && view.method === 'GET'
  return protect(Response.html(await app.view.render('profiler/toolbar', { ...view, isReloaded }, request)))
}

type SourceState = Pick<ProfilerApplication, 'brokenSources' | 'editor'>

const wholeSources: SourceState = {
  brokenSources: () => ({ problems: [], served: 'current' }),
  editor: new EditorLinks({ directory: '' }),
}

/**
 * Makes the view of the toolbar, with the items of these views. The third argument has the changed
 * files that cannot be used, and the links to the editor.
 */
export function toToolbarView(
  shown: ShownProfile,
  views: readonly SubjectView[] = subjectViews,
  { brokenSources, editor }: SourceState = wholeSources,
): PanelModel {
  const summary = toSummaryView(shown.profile.summary)
  const overview = summarizeProfile(shown)
  const { exception } = shown.profile.summary
  const [finding] = shown.findings.filter(({ severity }) => severity !== 'info')
  const build = toBuildItem(summary, brokenSources(), editor)
  const items = views.flatMap(({ toItems }) => toItems?.({ ...shown, summary, overview, editor }) ?? [])
  return {
    sentence: toPlainText(overview.sentence),
    token: summary.token,
    status: summary.status,
    tone: summary.tone,
    build: build[0]?.pill ?? '',
    mistake: build[0]?.text ?? '',
    // What the folded toolbar says besides the status.
    trouble: exception ?? finding?.title ?? '',
    troubleTone: exception === null && finding !== undefined ? toneOf(finding) : 'error',
    method: summary.method,
    target: summary.target,
    home,
    items: [...build, ...items].sort((one, other) => one.order - other.order),
  }
}

/** Characters of a mistake in the bar; its details have more. */
const mistakeLimit = 60

/**
 * Creates the item for the changed files that cannot be used: it shows the first mistake, its
 * place first, and lists all of them.
 */
function toBuildItem({ target }: SummaryView, { problems, served }: BrokenSources, editor: EditorLinks): ToolbarItem[] {
  const [first] = problems
  if (first === undefined) return []
  const view = ({ column, file, line }: SourceProblem) => editor.view({ file, line, column })
  const link = brokenLink(target)
  return [
    item(
      { name: 'build', label: 'Build' },
      {
        // Code with a type error runs: what it did comes first.
        order: served === 'current' ? 95 : 0,
        pill: formatCount(problems.length, served === 'current' ? 'type error' : 'mistake'),
        text: `${view(first).place} ${shorten(toOneLine(first.message), mistakeLimit)}`.trim(),
        tone: 'error',
        link,
        rows: [
          row('Build', `${sourceStates[served]}.`, { link }),
          ...limitRows(
            problems.map(problem => row('', cutText(problem.message), { link, tone: 'error', place: view(problem) })),
            link,
          ),
        ],
      },
    ),
  ]
}
