import { oncePerProfile } from '../../profile/profile.ts'
import { createWork, type Work, type WorkKind } from '../../profile/work.ts'

/** A render of a page or of a partial. Times are in milliseconds since the request began. */
export interface Render {
  /** Its index among the recorded renders. */
  readonly index: number
  readonly name: string
  readonly start: number
  /** The duration, including its partials. */
  readonly duration: number
  /** The names in the model of a page; empty for a partial. */
  readonly keys: readonly string[]
  readonly hasFailed: boolean
  readonly partials: Render[]
}

/** A trace has at most as many renders. */
const renderLimit = 1000

/** Reads the renders of a profile: empty lists if nothing was recorded. */
export const readRenders = oncePerProfile(collectors => {
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
}

function toWork({ duration, hasFailed, index, name, partials, start }: Render): Work {
  const end = start + duration
  return createWork({ name, id: `render-${index}`, start, end, hasFailed, template: name, parts: partials.map(toWork) })
}

/** The milliseconds of a render without its partials. */
export function renderOwnTime({ duration, partials }: Render): number {
  return Math.max(0, duration - partials.reduce((sum, { duration }) => sum + duration, 0))
}

/** A line of the tree of renders. `branch` is the drawing before its name. */
export interface RenderLine {
  readonly branch: string
  readonly render: Render
  /** The next renders of the same template, which the line includes: a list renders its items with one template. */
  readonly repeated: readonly Render[]
}

/** Draws the tree of renders, a line for each. */
export function flattenRenders(pages: readonly Render[]): RenderLine[] {
  return pages.flatMap(render => flatten({ render, repeated: [] }, '', ''))
}

/** A space that browsers do not collapse. */
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
