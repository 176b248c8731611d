import type { Profile } from '../profile.ts'
import { groupBy } from './group-by.ts'
import { asNumber, asObject, asObjects, asText } from './read-soft.ts'
import type { Period, TimelineRow } from './timeline.ts'

/** Makes rows of a timeline of the templates that were rendered, one for each name. */
export function createTemplateRows(profile: Profile): TimelineRow[] {
  return Array.from(
    groupBy(readRenders(profile), ({ name }) => name),
    ([name, group]) => ({
      name,
      category: 'template',
      // The time of a template that calls itself is part of the outer call's.
      periods: group.filter(({ callers }) => !callers.includes(name)).map(({ period }) => period),
      own: group.reduce((sum, { own }) => sum + own, 0),
    }),
  )
}

interface Render {
  readonly name: string
  readonly period: Period
  /** The names of the templates that it is a partial of. */
  readonly callers: readonly string[]
  /** What its partials leave of its time, in microseconds. */
  own: number
}

function readRenders({ data }: Profile): Render[] {
  const renders: Render[] = []
  for (const { duration, name, parent, start } of asObjects(asObject(data.templates).renders)) {
    const period = { start: toMicroseconds(start), duration: toMicroseconds(duration) }
    // Only those before it are looked at: nothing goes in circles.
    const caller = renders[asNumber(parent, -1)]
    if (caller !== undefined) caller.own = Math.max(0, caller.own - period.duration)
    const callers = caller === undefined ? [] : [...caller.callers, caller.name]
    renders.push({ name: asText(name), period, callers, own: period.duration })
  }
  return renders
}

function toMicroseconds(milliseconds: unknown): number {
  return Math.max(0, Math.round(asNumber(milliseconds) * 1000))
}
