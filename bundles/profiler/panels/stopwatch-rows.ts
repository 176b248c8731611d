import type { Profile } from '../profile.ts'
import { asList, asNumber, asObject, asText } from './read-soft.ts'
import type { TimelineRow } from './timeline.ts'

/** What the application has measured, as rows of a timeline; with it, what there was no room for. */
export interface StopwatchRows {
  readonly rows: readonly TimelineRow[]
  /** How many names and periods were left out. */
  readonly dropped: number
}

/** Reads what was measured with the stopwatch of a request. */
export function readStopwatchRows({ data }: Profile): StopwatchRows {
  const { dropped, measured } = asObject(asObject(data).time)
  const events = asList(measured).map(asObject)
  return {
    rows: events.map(({ category, name, periods }) => ({
      name: asText(name),
      category: asText(category) || 'default',
      periods: asList(periods)
        .map(asList)
        .map(([start, duration]) => ({ start: asNumber(start), duration: Math.max(0, asNumber(duration)) })),
    })),
    dropped: events.reduce((sum, event) => sum + asNumber(event.dropped), asNumber(dropped)),
  }
}
