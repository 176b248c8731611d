import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { type Judged, judgeFix, listFlaws } from '../../insight/replay/judge-fix.ts'
import { findReplayObstacle, planReplay } from '../../insight/replay/plan-replay.ts'
import { compareLink, profileLink, replayLink } from '../../profile/links.ts'
import type { StoredProfile } from '../../store/profile-storage.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { protect } from '../respond.ts'

/** The answer to a page that verifies a fix. */
interface VerifyAnswer {
  /** `unsure` if the request was not replayed, or its replay has no profile. */
  readonly state: 'fixed' | 'present' | 'unsure'
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
  const original = await judge(found, app)
  const id = (await request.formData()).get('flaw')
  const flaw = listFlaws(original).find(flaw => flaw.id === id)
  if (flaw === undefined) return respond('unsure', 'The profile has no such finding.', [], 404)
  const plan = planReplay(found.profile)
  if (!plan.isPossible) return respond('unsure', `Could not be replayed: ${plan.reason}`)
  const form = { text: 'Replay', link: replayLink(token) }
  const obstacle = findReplayObstacle(plan)
  if (obstacle !== '') return respond('unsure', `Not replayed: ${obstacle}`, [form])

  const secrets = plan.isDebugAllowed ? plan.secrets : []
  const own = secrets.flatMap(({ name }): [string, string][] => {
    const value = request.headers.get(name)
    return value === null ? [] : [[name, value]]
  })
  const result = await app.replayer.replay(plan, { headers: new Map(own) })
  if ('problem' in result) return respond('unsure', result.problem, [form])
  const replayed = await storage.find(result.token)
  if (replayed === undefined) return respond('unsure', 'The profile of the replay was deleted.', [form])
  const { isFixed, text } = judgeFix(flaw, original, await judge(replayed, app))
  return respond(isFixed ? 'fixed' : 'present', text, [
    { text: 'New profile', link: profileLink(result.token) },
    { text: 'Compare', link: compareLink(token, result.token) },
  ])
}

async function judge({ profile }: StoredProfile, { inspector }: VerifyServices): Promise<Judged> {
  return { profile, findings: (await inspector()).inspect(profile) }
}

function respond(
  state: VerifyAnswer['state'],
  text: string,
  links: VerifyAnswer['links'] = [],
  status = 200,
): Response {
  return protect(Response.json({ state, text, links } satisfies VerifyAnswer, { status }))
}
