import type { Profile } from '../profile.ts'
import { asNumber, asObject, asObjects, asText } from './read-soft.ts'
import type { TimelineRow } from './timeline.ts'

const nameLimit = 100

/** Makes rows of a timeline of the outgoing requests; one that was not over is shown as if it had ended with the pass. */
export function createCallRows({ data, summary }: Profile): TimelineRow[] {
  return asObjects(asObject(data.http).calls).map(({ end, method, start, url }) => {
    const from = asNumber(start)
    const until = asNumber(end, asNumber(summary.duration))
    return {
      name: shorten(`${asText(method)} ${asText(url)}`),
      category: 'http',
      periods: [{ start: Math.round(from * 1000), duration: Math.round(Math.max(0, until - from) * 1000) }],
    }
  })
}

function shorten(text: string): string {
  return text.length <= nameLimit ? text : `${text.slice(0, nameLimit)}…`
}
