import type { Profile } from '../../profile.ts'
import { asList, asNumber, asObject, asObjects, asText } from '../../reading/read-soft.ts'
import { createSpan, type PassFrame, type TimelineSpan } from './span.ts'

/** Makes spans of what the application has measured with the stopwatch of a request. */
export function createStopwatchSpans({ data }: Profile, { offset }: PassFrame): TimelineSpan[] {
  return asObjects(asObject(data.time).measured).map(({ category, isRunning, name, periods }) => {
    const kind = asText(category)
    return createSpan(
      {
        name: asText(name),
        category: 'stopwatch',
        periods: asList(periods)
          .map(asList)
          .map(([start, duration]) => ({
            start: offset + asNumber(start),
            duration: Math.max(0, asNumber(duration)),
          })),
      },
      { note: kind === 'default' ? '' : kind, problem: isRunning === true ? 'was not stopped' : '' },
    )
  })
}

/** How many names and periods of a stopwatch there was no room for. */
export function countDropped({ data }: Profile): number {
  const { dropped, measured } = asObject(asObject(data).time)
  return asObjects(measured).reduce((sum, event) => sum + asNumber(event.dropped), asNumber(dropped))
}
