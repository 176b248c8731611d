import type { Foundation } from '../../../../kernel/bundle.ts'
import { showPath } from '../../../../lib/text/show-path.ts'
import { formatDuration, formatShare } from '../../profile/format.ts'
import type { Period } from '../../profile/periods.ts'
import { flattenRenders, type Render, type RenderLine, readRenders, renderOwnTime } from '../../profile/renders.ts'
import type { EditorLinks } from '../editor-links.ts'
import { toBar } from './bar.ts'
import type { ProfilePanel } from './panel.ts'

/**
 * Creates the panel of the templates: how often they were rendered, for how long, and by which templates. It leads to their
 * files, and names the files that the application replaces.
 */
export function createTemplatesPanel(
  { directory, view }: Pick<Foundation, 'directory' | 'view'>,
  editor: EditorLinks,
): ProfilePanel {
  return {
    name: 'templates',
    label: 'Templates',
    template: 'profiler/panels/templates',

    hasContent: profile => readRenders(profile).all.length > 0,

    badge(profile) {
      const { all, calls } = readRenders(profile)
      const hasFailed = all.some(render => render.hasFailed)
      return { text: calls === 0 ? '' : String(calls), level: hasFailed ? 'error' : 'plain' }
    },

    toView({ profile }) {
      const { all, pages, calls, omitted, waited } = readRenders(profile)
      const total = pages.reduce((sum, { duration }) => sum + duration, 0)
      const start = Math.min(...pages.map(({ start }) => start))
      const end = Math.max(...pages.map(({ duration, start }) => start + duration))
      const lines = flattenRenders(pages)
      const files = new Map(view.files().map(each => [each.name, each]))
      return {
        calls,
        omitted,
        renderTime: formatDuration(total),
        waited: waited > 0 ? formatDuration(waited) : '',
        templates: toTemplates(pages, total).map(row => {
          const { replaces } = files.get(row.name) ?? {}
          return {
            file: editor.viewTemplate(row.name),
            replaces: replaces === undefined ? '' : showPath(replaces, directory),
            ...row,
          }
        }),
        tree: lines.slice(0, lineLimit).map(line => ({
          file: editor.viewTemplate(line.render.name),
          ...toLine(line, { start, duration: end - start }, total),
        })),
        left: Math.max(0, lines.length - lineLimit),
        isEmpty: all.length === 0,
      }
    },
  }
}

/** More rows would make a heavy page. */
const lineLimit = 200

/** One row for each template, those that took longest first. */
function toTemplates(pages: readonly Render[], total: number) {
  const byName = new Map<string, { name: string; count: number; own: number; time: number }>()
  const add = (render: Render, callers: readonly string[]) => {
    const { name } = render
    const row = byName.get(name) ?? { name, count: 0, own: 0, time: 0 }
    byName.set(name, row)
    row.count++
    row.own += renderOwnTime(render)
    // The time of a template within itself is part of the time of the outer render.
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
      bar: toBar({ start: 0, duration: own }, { start: 0, duration: total }),
    }))
}

/** Characters of the branches that are drawn before a name. */
const branchLength = 90

function toLine({ branch, render, repeated }: RenderLine, whole: Period, total: number) {
  const group = [render, ...repeated]
  const duration = group.reduce((sum, { duration }) => sum + duration, 0)
  const own = group.reduce((sum, render) => sum + renderOwnTime(render), 0)
  return {
    index: render.index,
    again: repeated.map(({ index }) => index),
    branch: branch.slice(-branchLength),
    name: render.name,
    times: repeated.length === 0 ? '' : `${group.length} times`,
    keys: render.keys,
    own: formatDuration(own),
    time: formatDuration(duration),
    share: formatShare(duration, total),
    bars: group.slice(0, barLimit).map(render => toBar(render, whole)),
    // An error fails all outer renders; the innermost one threw it.
    hasThrown: render.hasFailed && !render.partials.some(({ hasFailed }) => hasFailed),
    isUnfinished: render.hasFailed,
  }
}

const barLimit = 50
