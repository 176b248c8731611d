import { recordLink } from '../../links.ts'
import type { Profile } from '../../profile.ts'
import { readCalls } from '../../reading/read-calls.ts'
import { createSpan, type PassFrame, type TimelineSpan } from './span.ts'

/** Makes spans of the outgoing requests; one that was not over is shown as if it had ended with the pass. */
export function createCallSpans(profile: Profile, { handled, offset, token }: PassFrame): TimelineSpan[] {
  const link = recordLink(token, 'http')
  return readCalls(profile).calls.map(({ end, error, index, method, start, status, url }) => {
    const begin = Math.round(start * 1000)
    const until = end === undefined ? handled : Math.round(end * 1000)
    return createSpan(
      {
        name: `${method} ${url.replace(/^https?:\/\//, '')}`.trim(),
        category: 'http',
        periods: [{ start: offset + begin, duration: Math.max(0, until - begin) }],
      },
      {
        link: `${link}#call-${index}`,
        note: status === 0 ? '' : String(status),
        problem: error !== '' ? 'failed' : end === undefined ? 'was not over' : '',
      },
    )
  })
}
