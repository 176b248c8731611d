import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import { compareProfiles } from '../compare/compare-profiles.ts'
import { compareLink } from '../links.ts'
import { findPrevious } from './find-previous.ts'
import type { PageServices } from './page-services.ts'
import { protect } from './protect.ts'
import { toCompareView } from './to-compare-view.ts'
import { toReplayButton } from './to-replay-button.ts'

/**
 * Renders two records side by side: `a` and `b`, or two that were selected in the list (`record`, twice). Without `a` it
 * is the one before `b` that asked for the same.
 */
export async function renderCompare(request: Request, services: PageServices): Promise<Response> {
  const { pages, profiler, storage } = services
  const explain = (title: string, lead: string, status: number) =>
    pages.render('profiler/compare-none', { title, lead }, request, status)
  const [a, b] = readTokens(request.query)
  if (b === '') return explain('Two records are needed', 'Select two records in the list, then compare them.', 400)

  await Promise.all([a, b].map(token => profiler.whenKept(token)))
  const [first, second] = await Promise.all([a, b].map(token => storage.find(token)))
  const missing = [first ?? a, second ?? b].filter(token => typeof token === 'string' && token !== '')
  if (second === undefined || missing.length > 0) {
    const names = [...new Set(missing)].map(token => `"${token}"`).join(' and ')
    return explain('Records not found', `Nothing is kept of ${names}: expired, deleted, or never there.`, 404)
  }
  if (first === undefined) {
    const previous = await findPrevious(storage, second.profile.summary)
    if (previous !== undefined) return protect(Response.redirect(compareLink(previous.token, b)))
    return explain('Nothing to compare with', `There is no record before "${b}" that asked for the same.`, 404)
  }
  const comparison = compareProfiles(first.profile, second.profile)
  const view = toCompareView(first.profile, second.profile, comparison)
  const replay = view.isReplay && toReplayButton(first.profile)
  return pages.render('profiler/compare', { ...view, replay }, request)
}

/** The list has the newer ones first. */
function readTokens(query: URLSearchParams): [a: string, b: string] {
  const [newer = '', older = '', ...more] = query.getAll('record')
  if (newer !== '' || more.length > 0) return more.length > 0 || older === '' ? ['', ''] : [older, newer]
  return [query.get('a')?.trim() ?? '', query.get('b')?.trim() ?? '']
}
