import type { Profile } from '../../profile/profile.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { type FixVerdict, type Flaw, isTimed, type Judge, judgeFix, timedCount, type Versions } from './judge-fix.ts'
import { isSafe, type PossibleReplay } from './plan-replay.ts'
import type { Replayer, ReplayInput } from './replayer.ts'

/** The profile of a replay, or a sentence why there is none. */
export type Repeated = { readonly profile: Profile } | { readonly problem: string }

/** Replays a request once, and reads the profile. @throws HTTP_HEADER_INVALID before the request is sent */
export async function repeatRequest(
  plan: PossibleReplay,
  input: ReplayInput | undefined,
  {
    replayer,
    storage,
  }: { readonly replayer: Pick<Replayer, 'replay'>; readonly storage: Pick<ProfileStorage, 'find'> },
): Promise<Repeated> {
  const result = await replayer.replay(plan, input)
  if ('problem' in result) return result
  return (await storage.find(result.token)) ?? { problem: 'The profile of the replay was not stored.' }
}

/** The verdicts on the flaws of a request. */
export interface Verification {
  readonly verdicts: readonly (Pick<Flaw, 'id' | 'title'> & FixVerdict)[]
  /** The replays, the newest first. */
  readonly replays: Versions
}

/**
 * Replays a request and judges its flaws: once, and three times if a flaw is a time and the request changes no data. A page
 * that fails is not replayed again.
 */
export async function verifyFlaws(
  original: Profile,
  flaws: readonly Flaw[],
  judge: Judge,
  repeat: () => Promise<Repeated>,
): Promise<Verification | { readonly problem: string }> {
  const isOften = flaws.some(({ finding }) => finding !== undefined && isTimed(finding, original, judge))
  const count = isOften && isSafe(original.summary.method) ? timedCount : 1
  const replays: Profile[] = []
  for (;;) {
    const result = await repeat()
    if ('problem' in result) return result
    const versions: Versions = [result.profile, ...replays]
    const verdicts = flaws.map(flaw => ({
      id: flaw.id,
      title: flaw.title,
      ...judgeFix(flaw, [original], versions, judge),
    }))
    const isOver = verdicts.some(({ state }) => state === 'failing' || state === 'unsure')
    if (isOver || versions.length >= count) return { verdicts, replays: versions }
    replays.unshift(result.profile)
  }
}
