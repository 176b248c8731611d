import { oncePerProfile, type Profile } from '../../profile/profile.ts'
import { createWork, type Work, type WorkKind } from '../../profile/work.ts'

/** One call of a template. Times are in milliseconds, its start from that of the pass. */
export interface Render {
  /** Its place among all that were recorded. */
  readonly index: number
  readonly name: string
  readonly start: number
  /** The duration, with that of the partials. */
  readonly duration: number
  /** Of a page: names in its model. */
  readonly keys: readonly string[]
  readonly hasFailed: boolean
  readonly partials: Render[]
}

/** The templates of a profile. */
interface StoredRenders {
  /** In the order in which they began. */
  readonly all: readonly Render[]
  /** Those that are not a partial of another. */
  readonly pages: readonly Render[]
  /** How many there were, with those that were only counted. */
  readonly calls: number
  readonly omitted: number
  /** Milliseconds that pages have waited for fragments. */
  readonly waited: number
}

/** No trace has more. */
const renderLimit = 1000

/** Reads which templates were rendered: none where there is nothing. */
export const readRenders: (profile: Profile) => StoredRenders = oncePerProfile(collectors => {
  const { renders = [], omitted = 0, waited = 0 } = collectors.templates ?? {}
  const all: Render[] = []
  const pages: Render[] = []
  for (const { name, parent, start, duration, keys = [], hasFailed = false } of renders.slice(0, renderLimit)) {
    const render: Render = { index: all.length, name, start, duration, keys, hasFailed, partials: [] }
    // Only renders before it are its parents: there is no cycle.
    const siblings = all[parent]?.partials ?? pages
    siblings.push(render)
    all.push(render)
  }
  return { all, pages, calls: all.length + omitted, omitted, waited }
})

/** The rendered pages as work, with their partials as parts. */
export const renderWork: WorkKind = {
  panel: 'templates',
  category: 'template',
  label: 'Templates',
  nouns: ['template', 'templates'],
  list: profile => readRenders(profile).pages.map(toWork),
  count: profile => readRenders(profile).calls,
}

function toWork({ duration, hasFailed, index, name, partials, start }: Render): Work {
  const end = start + duration
  return createWork({ name, id: `render-${index}`, start, end, hasFailed, template: name, parts: partials.map(toWork) })
}

/** What a template took itself, without its partials. */
export function renderOwnTime({ duration, partials }: Render): number {
  return Math.max(0, duration - partials.reduce((sum, { duration }) => sum + duration, 0))
}

/** A render with the lines that lead to it. */
export interface RenderLine {
  readonly branch: string
  readonly render: Render
  /** Those that followed, of the same template: a list renders its items with one. */
  readonly repeated: readonly Render[]
}

/** Lays out what was rendered as the lines of a tree. */
export function flattenRenders(pages: readonly Render[]): RenderLine[] {
  return pages.flatMap(render => flatten({ render, repeated: [] }, '', ''))
}

/** One that browsers do not fold. */
const blank = '\u00a0'

function flatten(group: Group, branch: string, indent: string): RenderLine[] {
  const groups = groupRepeated(group.render.partials)
  const below = groups.flatMap((group, index) => {
    const [corner, line] = index === groups.length - 1 ? ['└', blank] : ['├', '│']
    return flatten(group, `${indent}${corner}${blank}`, `${indent}${line}${blank}`)
  })
  return [{ branch, ...group }, ...below]
}

interface Group {
  readonly render: Render
  readonly repeated: Render[]
}

function groupRepeated(renders: readonly Render[]): Group[] {
  const groups: Group[] = []
  for (const render of renders) {
    const group = groups.at(-1)
    if (group !== undefined && isAlike(group.render, render)) group.repeated.push(render)
    else groups.push({ render, repeated: [] })
  }
  return groups
}

function isAlike(one: Render, other: Render): boolean {
  return one.name === other.name && isLeaf(one) && isLeaf(other)
}

function isLeaf({ hasFailed, partials }: Render): boolean {
  return !hasFailed && partials.length === 0
}

/** How long pages took to render: partials are part of the time of their pages. */
export function renderTime(pages: readonly Render[]): number {
  return pages.reduce((sum, { duration }) => sum + duration, 0)
}
