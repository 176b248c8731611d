import type { Foundation } from '../../../../kernel/bundle.ts'
import { showPath } from '../../../../lib/stack/stack-frames.ts'
import { markdownDepth, type Section, toSpan } from '../../export/markdown-text.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { formatCount, formatDuration, formatShare } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Period } from '../../profile/work.ts'
import type { EditorLinks } from '../../web/editor-links.ts'
import type { ProfilePanel } from '../../web/panels/panel.ts'
import { toBar } from '../../web/panels/parts.ts'
import { cutText, item, limitRows, row, type ToolbarItem } from '../../web/toolbar/toolbar-items.ts'
import { flattenRenders, type Render, type RenderLine, readRenders, renderOwnTime, renderTime } from './read.ts'

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

/** The renders as a nested list. */
export const templatesSection: Section = {
  panel: 'templates',
  write({ profile }, limit) {
    const { calls, pages, waited } = readRenders(profile)
    if (calls === 0) return []
    const lines = flattenRenders(pages)
    const left = lines.length - limit
    return [
      '## Templates',
      lines.slice(0, limit).map(writeRender).join('\n'),
      ...(left > 0 ? [`${left.toLocaleString('en')} more are not listed.`] : []),
      ...(waited === 0 ? [] : [`Waiting for sub-requests and globals: ${formatDuration(waited)}.`]),
    ]
  },
}

function writeRender({ branch, render, repeated }: RenderLine): string {
  const { hasFailed, keys, name } = render
  const total = [render, ...repeated].reduce((sum, { duration }) => sum + duration, 0)
  const facts = [
    `${toSpan(name)} ${formatDuration(total)} (own ${formatDuration(renderOwnTime(render))})`,
    ...(repeated.length === 0 ? [] : [`${repeated.length + 1} times`]),
    ...(hasFailed ? ['failed'] : []),
    ...(keys.length === 0 ? [] : [`model ${keys.map(toSpan).join(', ')}`]),
  ]
  // A branch is two characters wide, at each level.
  return `${'  '.repeat(Math.min(branch.length / 2, markdownDepth))}- ${facts.join('; ')}`
}

/** Creates the item of templates; `undefined` without any. */
export function toTemplateItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const { calls, pages } = readRenders(profile)
  if (calls === 0) return undefined
  const link = profileLink(token, 'templates')
  return item('templates', 'Templates', {
    text: formatCount(calls, 'template'),
    link,
    isMinor: true,
    rows: [
      row('Render time', formatDuration(renderTime(pages))),
      ...limitRows(
        pages.map(({ duration, index, name }) =>
          row(formatDuration(duration), cutText(name), { link: `${link}#render-${index}` }),
        ),
        link,
      ),
    ],
  })
}
