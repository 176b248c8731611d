import type { Profile } from '../profile.ts'
import { groupBy } from './group-by.ts'
import { asNumber, asObject, asObjects, asText } from './read-soft.ts'
import type { TimelineRow } from './timeline.ts'

/** Makes rows of a timeline of the templates that were rendered, one for each name. */
export function createTemplateRows({ data }: Profile): TimelineRow[] {
  const renders = asObjects(asObject(data.templates).renders).map(({ duration, name, parent, start }) => ({
    name: asText(name),
    parent: asNumber(parent, -1),
    period: { start: toMicroseconds(start), duration: toMicroseconds(duration) },
  }))
  const own = renders.map(({ period }) => period.duration)
  for (const { parent, period } of renders) {
    const time = own[parent]
    if (time !== undefined) own[parent] = Math.max(0, time - period.duration)
  }
  const numbered = renders.map((render, index) => ({ ...render, own: own[index] }))
  return Array.from(
    groupBy(numbered, ({ name }) => name),
    ([name, group]) => ({
      name,
      category: 'template',
      // A template that calls itself takes the time once.
      periods: group.filter(({ parent }) => !isWithin(name, parent, renders)).map(({ period }) => period),
      own: group.reduce((sum, { own }) => sum + asNumber(own), 0),
    }),
  )
}

/** Whether one of those that a render lies in has the name. Only those before it are looked at: nothing goes in circles. */
function isWithin(name: string, parent: number, renders: readonly { name: string; parent: number }[]): boolean {
  const outer = renders[parent]
  if (outer === undefined) return false
  return outer.name === name || (outer.parent < parent && isWithin(name, outer.parent, renders))
}

function toMicroseconds(milliseconds: unknown): number {
  return Math.max(0, Math.round(asNumber(milliseconds) * 1000))
}
