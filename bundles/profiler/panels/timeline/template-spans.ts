import { recordLink } from '../../links.ts'
import type { Profile } from '../../profile.ts'
import { type Render, readRenders } from '../../reading/read-renders.ts'
import { createSpan, type PassFrame, type TimelineSpan } from './span.ts'

/** Makes spans of the templates that were rendered: of pages, with their partials within them. */
export function createTemplateSpans(profile: Profile, { offset, token }: PassFrame): TimelineSpan[] {
  const link = recordLink(token, 'templates')
  const toSpan = ({ duration, hasFailed, index, name, partials, start }: Render): TimelineSpan => {
    const periods = [{ start: offset + toMicroseconds(start), duration: toMicroseconds(duration) }]
    return createSpan(
      { name, category: 'template', periods },
      { link: `${link}#render-${index}`, problem: hasFailed ? 'failed' : '', children: partials.map(toSpan) },
    )
  }
  return readRenders(profile).pages.map(toSpan)
}

function toMicroseconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds * 1000))
}
