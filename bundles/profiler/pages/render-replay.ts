import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import { recordLink, replayLink } from '../links.ts'
import { planReplay } from '../replay/plan-replay.ts'
import type { PageServices } from './page-services.ts'
import { renderMissing } from './render-missing.ts'
import { createReplayForm } from './replay-form.ts'
import { toSummaryView } from './to-summary-view.ts'

/** Renders the page that asks before a replay: for what was never stored, and whether to do again what may change something. */
export async function renderReplay(
  token: string,
  request: Request,
  services: PageServices,
  problem = '',
): Promise<Response> {
  const found = await services.storage.find(token)
  if (found === undefined) return renderMissing(token, request, services)
  const { profile } = found
  const plan = planReplay(profile)
  const summary = toSummaryView(profile.summary)
  const model = {
    title: `Replay ${summary.method} ${summary.target}`,
    summary,
    problem,
    link: replayLink(token),
    reason: plan.isPossible ? '' : plan.reason,
    parentLink: plan.isPossible || plan.parent === '' ? '' : recordLink(plan.parent),
    caution: plan.isPossible ? plan.caution : '',
    notes: plan.isPossible ? plan.notes : [],
    form: plan.isPossible && createReplayForm(plan),
  }
  return services.pages.render('profiler/replay', model, request, problem === '' ? 200 : 422)
}
