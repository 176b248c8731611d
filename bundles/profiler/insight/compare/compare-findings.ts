import type { Profile } from '../../profile/profile.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { addCalled } from '../called.ts'
import { writeProblem } from '../findings/finding.ts'
import type { Compared } from './differences.ts'
import { findAdded, isFixed, type Judge, judgeFix, listFlaws } from './judge-fix.ts'

/**
 * Compares the findings of two profiles by the verdicts of a fix: one is gone only where *Fix and verify* says
 * so. Where its work is done in another form, or it is not known, the text of the second profile is that verdict.
 */
export async function compareFindings(
  first: Profile,
  second: Profile,
  judge: Judge,
  storage: Pick<ProfileStorage, 'find' | 'search'>,
): Promise<Compared<string>[]> {
  const [before, after] = [await addCalled([first], storage), await addCalled([second], storage)]
  const known = listFlaws(before[0], judge.inspect(before[0])).flatMap((flaw): Compared<string>[] => {
    const { finding, title: key } = flaw
    // The exceptions are a part of their own.
    if (finding === undefined) return []
    const verdict = judgeFix(flaw, before, after, judge)
    const first = writeProblem(finding)
    if (isFixed(verdict)) return [{ key, first, second: undefined, change: 'onlyFirst' }]
    return verdict.state === 'present'
      ? [{ key, first, second: first, change: 'same' }]
      : [{ key, first, second: verdict.text, change: 'changed' }]
  })
  const added = findAdded(before, after, judge).map(
    (finding): Compared<string> => ({
      key: finding.title,
      first: undefined,
      second: writeProblem(finding),
      change: 'onlySecond',
    }),
  )
  return [...known, ...added]
}
