import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { type FixVerdict, listFlaws, verifyFlaws } from '../../insight/replay/judge-fix.ts'
import { findReplayObstacle, planReplay, repeatRequest } from '../../insight/replay/replay.ts'
import { compareLink, profileLink, replayLink } from '../../profile/links.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { protect } from '../respond.ts'

/** The answer to a page that verifies a fix. */
interface VerifyAnswer {
  /** Also `unsure` if the request was not replayed, or its replay has no profile. */
  readonly state: FixVerdict['state']
  readonly text: string
  /** The next pages: of the replay, or of the form that asks before it. */
  readonly links: readonly { readonly text: string; readonly link: string }[]
}

type VerifyServices = Pick<ProfilerApplication, 'inspector' | 'profiler' | 'replayer' | 'storage'>

/**
 * Replays the request of a profile if that is safe, and answers whether the flaw of the form is gone. Cookies and credentials
 * that were not stored are those of this request: the browser would send them with the replayed request, too. A request that may
 * not see debug output is from another client, and gets none.
 */
export async function verifyFix(token: string, request: Request, app: VerifyServices): Promise<Response> {
  const { profiler, storage } = app
  await profiler.whenWritten(token)
  const found = await storage.find(token)
  if (found === undefined) return respond('unsure', 'The profile was deleted.', [], 404)
  const original = found.profile
  const inspector = await app.inspector()
  const id = (await request.formData()).get('flaw')
  const flaw = listFlaws(original, inspector.inspect(original)).find(flaw => flaw.id === id)
  if (flaw === undefined) return respond('unsure', 'The profile has no such finding.', [], 404)
  const plan = planReplay(original)
  if (!plan.isPossible) return respond('unsure', `Could not be replayed: ${plan.reason}`)
  const form = { text: 'Replay', link: replayLink(token) }
  const obstacle = findReplayObstacle(plan)
  if (obstacle !== '') return respond('unsure', `Not replayed: ${obstacle}`, [form])

  const secrets = plan.isDebugAllowed ? plan.secrets : []
  const own = secrets.flatMap(({ name }): [string, string][] => {
    const value = request.headers.get(name)
    return value === null ? [] : [[name, value]]
  })
  const input = { headers: new Map(own) }
  const result = await verifyFlaws(original, [flaw], inspector, () => repeatRequest(plan, input, app))
  if ('problem' in result) return respond('unsure', result.problem, [form])
  const replay = result.replays[0].summary.token
  // One flaw has one verdict.
  const { state, text } = result.verdicts[0] as FixVerdict
  return respond(state, text, [
    { text: 'New profile', link: profileLink(replay) },
    { text: 'Compare', link: compareLink(token, replay) },
  ])
}

function respond(
  state: VerifyAnswer['state'],
  text: string,
  links: VerifyAnswer['links'] = [],
  status = 200,
): Response {
  return protect(Response.json({ state, text, links } satisfies VerifyAnswer, { status }))
}
