import type { Profile } from '../profile.ts'
import { asList, asObject } from '../reading/read-soft.ts'
import { isToken } from '../store/parse-summary.ts'

/** The attribute of a request that repeats another: the token of that one's record. Applications may look at it, too. */
export const replayAttribute = '_replay_of'

/** The token of the record that a profile is a replay of; `undefined` when it is none. */
export function readOriginal({ data }: Pick<Profile, 'data'>): string | undefined {
  const attributes = asList(asObject(asObject(data).request).attributes).map(asList)
  const token = attributes.find(([name]) => name === replayAttribute)?.[1]
  return isToken(token) ? token : undefined
}
