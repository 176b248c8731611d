import { replayLink } from '../links.ts'
import type { Profile } from '../profile.ts'
import { isDirect, planReplay } from '../replay/plan-replay.ts'

/** What replays a record: a button, or a link to the page that asks first. */
export interface ReplayButton {
  readonly link: string
  readonly isDirect: boolean
}

/** Makes the button that replays a record. */
export function toReplayButton(profile: Profile): ReplayButton {
  return { link: replayLink(profile.summary.token), isDirect: isDirect(planReplay(profile)) }
}
