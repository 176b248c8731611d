import { toTarget } from '../format/to-target.ts'
import type { ProfileSummary } from '../profile.ts'
import { isToken } from '../store/parse-summary.ts'

/** A sub-request as an event tree and a timeline show it. */
export interface SubRequest {
  readonly name: string
  /** Of its profile; empty for what is no token. */
  readonly token: string
}

/** Names a sub-request after its controller, where its profile is there, and tells the token of its profile. */
export function describeSubRequest(
  { name: token }: { readonly name: string },
  children: readonly ProfileSummary[],
): SubRequest {
  const child = children.find(child => child.token === token)
  return {
    name: child === undefined ? 'Sub-Request' : `Sub-Request ${child.controller || toTarget(child.url)}`,
    token: isToken(token) ? token : '',
  }
}
