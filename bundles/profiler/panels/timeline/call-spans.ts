import { recordLink } from '../../pages/links.ts'
import type { Profile } from '../../profile.ts'
import { asNumber, asObject, asObjects, asOptionalNumber, asText } from '../read-soft.ts'
import { createSpan, type PassFrame, type TimelineSpan } from './span.ts'

/** Makes spans of the outgoing requests; one that was not over is shown as if it had ended with the pass. */
export function createCallSpans({ data }: Profile, { handled, offset, token }: PassFrame): TimelineSpan[] {
  const link = recordLink(token, 'http')
  return asObjects(asObject(data.http).calls).map((call, index) => {
    const start = Math.round(asNumber(call.start) * 1000)
    const end = asOptionalNumber(call.end)
    const until = end === undefined ? handled : Math.round(end * 1000)
    return createSpan(
      {
        name: `${asText(call.method)} ${asText(call.url).replace(/^https?:\/\//, '')}`.trim(),
        category: 'http',
        periods: [{ start: offset + start, duration: Math.max(0, until - start) }],
      },
      {
        link: `${link}#call-${index}`,
        note: asNumber(call.status) === 0 ? '' : String(asNumber(call.status)),
        problem: asText(call.error) !== '' ? 'failed' : end === undefined ? 'was not over' : '',
      },
    )
  })
}
