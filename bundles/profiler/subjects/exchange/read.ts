import type { ContentData } from '../../profile/content.ts'
import { readHeader } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { findOperation, type Operation } from './operation.ts'

/** The operation of a request inside of its protocol; `undefined` if it is of none that is known. */
export function readOperation({ collectors: { request, response }, summary }: Profile): Operation | undefined {
  const { method, status, url } = summary
  return findOperation({ method, status, url, request, response })
}

/** The stored content of the response, as far as there is one. */
export function readResponseContent({ collectors }: Profile): ContentData | undefined {
  return collectors.response?.content
}

/** The token of the sub-request whose response became the response; empty without one. */
export function readForwarded({ collectors }: Profile): string {
  return readHeader(collectors.response, 'x-previous-debug-token')[0] ?? ''
}
