import type { ContentData } from '../../profile/content.ts'
import { readHeader } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { hasEventStream } from '../../profile/units.ts'
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

/**
 * The events of an event stream, as browsers count them (HTML, 9.2.6); `undefined` for another response, and for a
 * stream that is not stored as a whole.
 */
export function countStreamEvents(profile: Profile): number | undefined {
  const { isCut, text } = readResponseContent(profile) ?? {}
  if (!hasEventStream(profile.summary) || text === undefined || isCut) return undefined
  const blocks = text.replace(/\r\n?/g, '\n').split('\n\n').slice(0, -1)
  return blocks.filter(block => /^data(?::|$)/m.test(block)).length
}

/** The token of the sub-request whose response became the response; empty without one. */
export function readForwarded({ collectors }: Profile): string {
  return readHeader(collectors.response, 'x-previous-debug-token')[0] ?? ''
}
