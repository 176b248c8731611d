import { planReplay } from '../../insight/replay/replay.ts'
import { replayLink, verifyLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'

/** The content of the template `profiler/verification`. */
interface VerificationView {
  /** Replays and compares, without scripts. */
  readonly link: string
  readonly verifyLink: string
  /** The id of the flaw. */
  readonly flaw: string
  /** When the request began: code that came into use later may have the fix. */
  readonly time: number
}

/** Creates the view of the button that verifies a fix; `false` for a request that cannot be replayed. */
export function viewVerification(profile: Profile, flaw: string): VerificationView | false {
  const { time, token } = profile.summary
  return planReplay(profile).isPossible && { link: replayLink(token), verifyLink: verifyLink(token), flaw, time }
}
