import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import { compareLink, replayLink } from '../links.ts'
import { planReplay } from '../replay/plan-replay.ts'
import type { Replayer } from '../replay/replayer.ts'
import type { PageServices } from './page-services.ts'
import { renderMissing } from './render-missing.ts'
import { renderReplay } from './render-replay.ts'
import { findMistake, isConfirmed, readReplayForm } from './replay-form.ts'

/**
 * Makes the request of a record once more; gives where to go on: to the comparison, or to the page that asks first. What
 * the form supplies is used this once.
 */
export async function replay(
  token: string,
  request: Request,
  services: PageServices & { readonly replayer: Replayer },
): Promise<string | Response> {
  const { pages, profiler, replayer, storage } = services
  await profiler.whenKept(token)
  const found = await storage.find(token)
  if (found === undefined) return renderMissing(token, request, services)
  const plan = planReplay(found.profile)
  if (!plan.isPossible) return replayLink(token)
  const form = await request.formData()
  if (plan.caution !== '' && !isConfirmed(form)) return replayLink(token)
  const input = readReplayForm(form, plan)
  const mistake = findMistake(input)
  if (mistake !== '') return renderReplay(token, request, services, mistake)
  const result = await replayer.replay(plan, input)
  if ('token' in result) return compareLink(token, result.token)
  const model = { title: 'The replay cannot be shown', lead: result.problem }
  return pages.render('profiler/compare-none', model, request, 504)
}
