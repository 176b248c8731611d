import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import { compareProfiles } from '../../insight/compare/comparison.ts'
import { findPredecessors, likenessOf } from '../../insight/relatives.ts'
import { toSummaryView } from '../../insight/summary-view.ts'
import { compareLink } from '../../profile/links.ts'
import { toReplayButton } from '../panels/render-panel.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { redirect, renderPage } from '../respond.ts'
import { toCompareView } from './compare-view.ts'

/**
 * Renders two profiles side by side: `a` and `b`, or two that were selected in the list (`record`, twice). Without `a`, the
 * first one is the previous profile of the same request.
 */
export async function renderCompare(
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'profiler' | 'storage' | 'view'>,
): Promise<Response> {
  const { profiler, storage } = app
  const explain = (title: string, lead: string, status: number) =>
    renderPage('profiler/compare-none', { title, lead }, request, app, status)
  const [a, b] = readTokens(request.query)
  if (b === '') return explain('Two profiles are required', 'Select two profiles in the list, then compare them.', 400)

  await Promise.all([a, b].map(token => profiler.whenWritten(token)))
  const [first, second] = await Promise.all([a, b].map(token => storage.find(token)))
  const missing = [first ?? a, second ?? b].filter(token => typeof token === 'string' && token !== '')
  if (second === undefined || missing.length > 0) {
    const names = [...new Set(missing)].map(token => `"${token}"`).join(' and ')
    return explain(
      names.includes(' and ') ? 'Profiles not found' : 'Profile not found',
      `No profile ${names}: expired, deleted, or never stored.`,
      404,
    )
  }
  const { summary } = second.profile
  const { candidates, previous, spread } = await findPredecessors(storage, summary)
  if (first === undefined) {
    if (previous !== undefined) return redirect(compareLink(previous.token, b))
    return explain('No profile to compare with', `There is no earlier profile of the same request before "${b}".`, 404)
  }
  const comparison = compareProfiles(first.profile, second.profile, spread)
  const view = toCompareView(first.profile, second.profile, comparison, app.editor)
  const replay = view.isReplay && toReplayButton(first.profile)
  const others = candidates
    .filter(({ token }) => token !== first.profile.summary.token)
    .map(other => ({
      ...toSummaryView(other),
      likeness: likenessOf(other, summary),
      compareLink: compareLink(other.token, summary.token),
    }))
  const likeness = likenessOf(first.profile.summary, summary)
  return renderPage('profiler/compare', { ...view, likeness, others, replay }, request, app)
}

/** Of two selected profiles, the list has the newer one first. */
function readTokens(query: URLSearchParams): [a: string, b: string] {
  const [newer = '', older = '', ...more] = query.getAll('record')
  if (newer !== '' || more.length > 0) return more.length > 0 || older === '' ? ['', ''] : [older, newer]
  return [query.get('a')?.trim() ?? '', query.get('b')?.trim() ?? '']
}
