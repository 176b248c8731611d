import type { ShownProfile } from '../relatives.ts'
import { writeSentence } from './sentence.ts'
import type { OverviewPart } from './sentence-parts.ts'
import { divideTime, type TimePart } from './time-parts.ts'
import { readUsualTime, type UsualTime } from './usual-time.ts'

/** The answer to the first questions about a request: where its time went, and what is wrong. */
export interface Overview {
  readonly sentence: readonly OverviewPart[]
  /** The longest first. They add up to the duration of the request. */
  readonly parts: readonly TimePart[]
  readonly usual: UsualTime
}

/** Summarizes a profile. Never throws: damaged parts of a profile count as absent. */
export function summarizeProfile(shown: Pick<ShownProfile, 'earlier' | 'findings' | 'profile'>): Overview {
  const parts = divideTime(shown.profile)
  const usual = readUsualTime(shown.profile, shown.earlier)
  return { sentence: writeSentence(shown, parts, usual), parts, usual }
}
