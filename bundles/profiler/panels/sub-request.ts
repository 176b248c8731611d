import type { ProfileSummary } from '../profile.ts'

/** A sub-request as an event tree and a timeline show it. */
export interface SubRequest {
  readonly name: string
  readonly category: 'sub_request'
  /** Of its profile; empty for what is no token. */
  readonly token: string
}

const tokenPattern = /^[0-9a-f]{6}$/

/** Names a sub-request after its controller, where its profile is there, and tells the token of its profile. */
export function describeSubRequest(
  { name: token }: { readonly name: string },
  children: readonly ProfileSummary[],
): SubRequest {
  const child = children.find(child => child.token === token)
  return {
    name: child === undefined ? 'Sub-Request' : `Sub-Request ${child.controller ?? child.url}`,
    category: 'sub_request',
    token: tokenPattern.test(token) ? token : '',
  }
}
