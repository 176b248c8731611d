import { recordLink } from '../../pages/links.ts'
import type { Profile } from '../../profile.ts'
import { asNumber, asObject, asObjects, asText } from '../read-soft.ts'
import { createSpan, type PassFrame, type TimelineSpan } from './span.ts'

/** Makes spans of the templates that were rendered: of pages, with their partials within them. */
export function createTemplateSpans({ data }: Profile, { offset, token }: PassFrame): TimelineSpan[] {
  const all: TimelineSpan[] = []
  const pages: TimelineSpan[] = []
  const link = recordLink(token, 'templates')
  for (const [index, render] of asObjects(asObject(data.templates).renders).entries()) {
    const start = offset + toMicroseconds(render.start)
    const periods = [{ start, duration: toMicroseconds(render.duration) }]
    const problem = render.hasFailed === true ? 'failed' : ''
    const span = createSpan(
      { name: asText(render.name), category: 'template', periods },
      { link: `${link}#render-${index}`, problem },
    )
    // Only those before it are looked at: nothing goes in circles.
    const siblings = all[asNumber(render.parent, -1)]?.children ?? pages
    siblings.push(span)
    all.push(span)
  }
  return pages
}

function toMicroseconds(milliseconds: unknown): number {
  return Math.max(0, Math.round(asNumber(milliseconds) * 1000))
}
