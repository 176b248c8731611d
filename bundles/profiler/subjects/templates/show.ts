import { showPath } from '../../../../lib/stack/stack-frames.ts'
import { markdownDepth, toSpan, writeRest } from '../../export/markdown-text.ts'
import { toBar } from '../../panels/parts.ts'
import type { SubjectView } from '../../panels/subject-view.ts'
import { cutText, item, limitRows, row } from '../../panels/toolbar-items.ts'
import { formatCount, formatDuration, formatShare } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { type Period, totalOf } from '../../profile/work.ts'
import { flattenRenders, type Render, type RenderLine, readRenders, renderOwnTime } from './read.ts'

/**
 * The rendered templates: how often they were rendered, for how long, and by which templates. The
 * panel leads to their files, and names the files that the application replaces.
 */
export const templatesView: SubjectView = {
  name: 'templates',
  label: 'Templates',
  template: 'profiler/panels/templates',

  hasContent: ({ profile }) => readRenders(profile).all.length > 0,

  badge({ profile }) {
    const { all, calls } = readRenders(profile)
    const hasFailed = all.some(render => render.hasFailed)
    return { text: calls === 0 ? '' : String(calls), level: hasFailed ? 'error' : 'plain' }
  },

  toView({ profile }, { directory, editor, view }) {
    const { all, pages, calls, omitted, waited } = readRenders(profile)
    const total = totalOf(pages)
    const start = Math.min(...pages.map(({ start }) => start))
    const end = Math.max(...pages.map(({ duration, start }) => start + duration))
    const lines = flattenRenders(pages)
    const files = new Map(view.files().map(each => [each.name, each]))
    const templates = toTemplates(pages, total).map(row => {
      const { replaces } = files.get(row.name) ?? {}
      return {
        file: editor.viewTemplate(row.name),
        replaces: replaces === undefined ? '' : showPath(replaces, directory),
        ...row,
      }
    })
    // If each template is one line of the tree, a second table says nothing new.
    const isNews =
      lines.length > Math.min(templates.length, lineLimit) || templates.some(({ replaces }) => replaces !== '')
    return {
      calls,
      omitted,
      renderTime: formatDuration(total),
      waited: waited > 0 ? formatDuration(waited) : '',
      count: templates.length,
      templates: isNews && templates,
      tree: lines.slice(0, lineLimit).map(line => ({
        file: editor.viewTemplate(line.render.name),
        ...toLine(line, { start, duration: end - start }, total),
      })),
      left: Math.max(0, lines.length - lineLimit),
      isEmpty: all.length === 0,
    }
  },

  toMarkdown({ profile }, limit) {
    const { calls, omitted, pages, waited } = readRenders(profile)
    if (calls === 0) return []
    const lines = flattenRenders(pages)
    return [
      `## ${templatesView.label}`,
      lines.slice(0, limit).map(writeLine).join('\n'),
      ...writeRest(lines.length - limit, 'listed'),
      ...writeRest(omitted),
      ...(waited === 0 ? [] : [`Waiting for sub-requests and globals: ${formatDuration(waited)}.`]),
    ]
  },

  toItems({ profile, summary }) {
    const { calls, pages } = readRenders(profile)
    if (calls === 0) return []
    const link = profileLink(summary.token, 'templates')
    const rows = pages.map(({ duration, index, name }) =>
      row(formatDuration(duration), cutText(name), { link: `${link}#render-${index}` }),
    )
    return [
      item(templatesView, {
        order: 120,
        text: formatCount(calls, 'template'),
        link,
        isMinor: true,
        rows: [row('Render time', formatDuration(totalOf(pages))), ...limitRows(rows, link)],
      }),
    ]
  },
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

/** The facts of a line that the panel and Markdown show: the times are those of all its renders. */
function describe({ render, repeated }: RenderLine) {
  const group = [render, ...repeated]
  return {
    name: render.name,
    times: repeated.length === 0 ? '' : `${group.length} times`,
    own: formatDuration(group.reduce((sum, each) => sum + renderOwnTime(each), 0)),
    time: formatDuration(totalOf(group)),
  }
}

function toLine(line: RenderLine, whole: Period, total: number) {
  const { branch, render, repeated } = line
  const group = [render, ...repeated]
  return {
    index: render.index,
    again: repeated.map(({ index }) => index),
    branch: branch.slice(-branchLength),
    keys: render.keys,
    ...describe(line),
    share: formatShare(totalOf(group), total),
    bars: group.slice(0, barLimit).map(render => toBar(render, whole)),
    // An error fails all outer renders; the innermost one threw it.
    hasThrown: render.hasFailed && !render.partials.some(({ hasFailed }) => hasFailed),
    isUnfinished: render.hasFailed,
  }
}

const barLimit = 50

function writeLine(line: RenderLine): string {
  const { name, own, time, times } = describe(line)
  const { hasFailed, keys } = line.render
  const facts = [
    `${toSpan(name)} ${time} (own ${own})`,
    times,
    hasFailed ? 'failed' : '',
    keys.length === 0 ? '' : `model ${keys.map(toSpan).join(', ')}`,
  ]
  // A branch is two characters wide, at each level.
  return `${'  '.repeat(Math.min(line.branch.length / 2, markdownDepth))}- ${facts.filter(Boolean).join('; ')}`
}
