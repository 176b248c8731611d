import type { ContentData } from '../../profile/content.ts'
import { readHeader } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { RequestData } from './data.ts'

/** The ids by which a request belongs to a distributed trace, as far as they are known. */
export function readTrace({ collectors }: Profile): Partial<Pick<RequestData, 'parentSpanId' | 'spanId' | 'traceId'>> {
  return collectors.request ?? {}
}

/** The stored content of the response, as far as there is one. */
export function readResponseContent({ collectors }: Profile): ContentData | undefined {
  return collectors.response?.content
}

/** The token of the sub-request whose response became the response; empty without one. */
export function readForwarded({ collectors }: Profile): string {
  return readHeader(collectors.response, 'x-previous-debug-token')[0] ?? ''
}
