import type { Profile } from '../profile.ts'
import { formatDuration } from './format-duration.ts'
import { formatShare } from './format-share.ts'
import type { ProfilePanel } from './panel.ts'
import { asNumber, asObject, asObjects, asText, asTexts } from './read-soft.ts'

/** Shows which templates were rendered, how often, how long, and what called what. */
export const templatesPanel: ProfilePanel = {
  name: 'templates',
  label: 'Templates',
  template: 'profiler/panels/templates',

  hasContent: profile => read(profile).renders.length > 0,

  badge(profile) {
    const { renders, calls } = read(profile)
    const hasFailed = renders.some(render => render.hasFailed)
    return { text: calls === 0 ? '' : String(calls), level: hasFailed ? 'error' : 'plain' }
  },

  toView({ profile }) {
    const { renders, pages, calls, omitted, waited } = read(profile)
    const total = sum(pages)
    return {
      calls,
      omitted,
      renderTime: formatDuration(total),
      waited: waited > 0 ? formatDuration(waited) : '',
      templates: toTemplates(pages, total),
      tree: pages.flatMap(page => toBranch(page, total)),
      pages: pages.map(({ name, keys }) => ({ name, keys: keys.join(', ') })),
      isEmpty: renders.length === 0,
    }
  },
}

interface Render {
  readonly name: string
  readonly duration: number
  readonly keys: readonly string[]
  readonly hasFailed: boolean
  readonly partials: Render[]
}

function read({ data }: Profile) {
  const { renders, omitted, waited } = asObject(data.templates)
  const all: Render[] = []
  const pages: Render[] = []
  for (const { name, parent, duration, keys, hasFailed } of asObjects(renders)) {
    const render: Render = {
      name: asText(name),
      duration: asNumber(duration),
      keys: asTexts(keys),
      hasFailed: hasFailed === true,
      partials: [],
    }
    // Only those before it are looked at: nothing goes in circles.
    const caller = all[asNumber(parent, -1)]
    const siblings = caller?.partials ?? pages
    siblings.push(render)
    all.push(render)
  }
  const calls = all.length + asNumber(omitted)
  return { renders: all, pages, calls, omitted: asNumber(omitted), waited: asNumber(waited) }
}

function sum(renders: readonly Render[]): number {
  return renders.reduce((total, { duration }) => total + duration, 0)
}

/** What a template took itself, without its partials. */
function ownTime({ duration, partials }: Render): number {
  return Math.max(0, duration - sum(partials))
}

/** One row for each template, those that took longest first. */
function toTemplates(pages: readonly Render[], total: number) {
  const byName = new Map<string, { name: string; count: number; own: number; time: number }>()
  const add = (render: Render, callers: readonly string[]) => {
    const { name } = render
    const row = byName.get(name) ?? { name, count: 0, own: 0, time: 0 }
    byName.set(name, row)
    row.count++
    row.own += ownTime(render)
    // The time of a template that calls itself is part of the outer call's.
    if (!callers.includes(name)) row.time += render.duration
    for (const partial of render.partials) add(partial, [...callers, name])
  }
  for (const page of pages) add(page, [])
  return [...byName.values()]
    .sort((a, b) => b.own - a.own)
    .map(({ name, count, own, time }) => ({
      name,
      count,
      own: formatDuration(own),
      time: formatDuration(time),
      share: formatShare(own, total),
    }))
}

/** How deep the lines of the tree are drawn. */
const branchLength = 90

/** One that browsers do not fold. */
const blank = '\u00a0'

/** A render and all within it, each with the lines that lead to it. */
function toBranch(render: Render, total: number, line = '', indent = ''): Record<string, unknown>[] {
  const row = {
    branch: line.slice(-branchLength),
    name: render.name,
    time: formatDuration(render.duration),
    share: formatShare(render.duration, total),
    // An error goes through all callers; it came from where no partial has failed.
    hasThrown: render.hasFailed && !render.partials.some(({ hasFailed }) => hasFailed),
    isUnfinished: render.hasFailed,
  }
  const last = render.partials.length - 1
  const rows = render.partials.flatMap((partial, index) => {
    const [corner, below] = index === last ? ['└', blank] : ['├', '│']
    return toBranch(partial, total, `${indent}${corner}${blank}`, `${indent}${below}${blank}`)
  })
  return [row, ...rows]
}
