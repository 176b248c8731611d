import { formatDuration } from '../../format/format-duration.ts'
import { flattenRenders, ownTime, type RenderLine, readRenders } from '../../reading/read-renders.ts'
import type { Section } from './section.ts'
import { toSpan } from './text.ts'

/** Which templates were rendered, within one another. */
export const templatesSection: Section = {
  panel: 'templates',
  write({ profile }, limit) {
    const { calls, pages, waited } = readRenders(profile)
    if (calls === 0) return []
    const lines = flattenRenders(pages)
    const left = lines.length - limit
    return [
      '## Templates',
      lines.slice(0, limit).map(writeLine).join('\n'),
      ...(left > 0 ? [`${left.toLocaleString('en')} more are left out.`] : []),
      ...(waited === 0 ? [] : [`Pages have waited ${formatDuration(waited)} for fragments.`]),
    ]
  },
}

const depthLimit = 20

function writeLine({ branch, render, repeated }: RenderLine): string {
  const { hasFailed, keys, name } = render
  const total = [render, ...repeated].reduce((sum, { duration }) => sum + duration, 0)
  const facts = [
    `${toSpan(name)} ${formatDuration(total)} (own ${formatDuration(ownTime(render))})`,
    ...(repeated.length === 0 ? [] : [`${repeated.length + 1} times`]),
    ...(hasFailed ? ['failed'] : []),
    ...(keys.length === 0 ? [] : [`model ${keys.map(toSpan).join(', ')}`]),
  ]
  // A branch is two characters wide, at each level.
  return `${'  '.repeat(Math.min(branch.length / 2, depthLimit))}- ${facts.join('; ')}`
}
