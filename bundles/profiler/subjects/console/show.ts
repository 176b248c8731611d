import { formatTree, type ValueEntry, type ValueTree } from '../../../../lib/redact/value-tree.ts'
import { choose, toBlock, toSpan, writeRest } from '../../export/markdown-text.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import type { PanelModel, SubjectView } from '../../panels/subject-view.ts'
import { item, itemRowLimit, limitRows, row, rowLimit } from '../../panels/toolbar-items.ts'
import {
  formatCount,
  formatMicroseconds,
  formatNumber,
  formatPlace,
  shorten,
  type TreeView,
  TreeViewer,
  toOneLine,
} from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { countFor } from '../../profile/work.ts'
import type { ConsoleEntry, ConsoleMethod } from './data.ts'
import { consoleLevels, countComplaints, isPrinted, writeValues } from './read.ts'

/** The most entries of the trees of all calls: the page is at most 60 kB. */
const entryLimit = 400

/** The calls of `dump` and of `console`, in their order. */
export const consoleView: SubjectView = {
  name: 'console',
  label: 'Console',
  template: 'profiler/panels/console',
  hasContent: ({ profile }) => profile.summary.dumps > 0,

  countBad: countComplaints,

  badge: ({ profile }) => countFor(countComplaints(profile), profile.summary.dumps),

  toView({ profile }, { editor }) {
    const { entries = [], omitted = 0 } = profile.collectors.console ?? {}
    // A large value leaves room for the values after it.
    const limit = Math.max(10, Math.floor(entryLimit / Math.max(4, entries.length)))
    const views = entries.map((entry, index) => toRow(entry, index, editor, new TreeViewer(limit)))
    const { anchor, count, text, tone } = countComplaints(profile)
    const first = views.find(({ id }) => id === anchor)
    const isHidden = first !== undefined && first.index >= rowsInSight
    return { omitted, entries: views, complaint: isHidden && { ...first, heading: text, isFirst: count > 1, tone } }
  },

  toMarkdown({ profile }, limit) {
    const { entries = [], omitted = 0 } = profile.collectors.console ?? {}
    if (entries.length === 0) return []
    return [
      `## ${consoleView.label}`,
      ...choose(entries, limit, rankOf).flatMap(writeEntry),
      ...writeRest(Math.max(0, entries.length - limit) + omitted, 'listed'),
    ]
  },

  toItems({ editor, profile, summary }) {
    const { dumps } = profile.summary
    if (dumps === 0) return []
    const { entries = [] } = profile.collectors.console ?? {}
    const link = profileLink(summary.token, 'console')
    const bad = countComplaints(profile)
    const rows = entries.map(({ label, method, site, values }, index) => {
      const text = values.map(value => toOneLine(formatTree(value))).join(' ')
      return row(label ?? method, shorten(text, rowLimit), {
        link: `${link}#dump-${index}`,
        place: editor.viewCaller(site),
      })
    })
    return [
      item(consoleView, {
        order: 50,
        text: [formatCount(dumps, 'call'), bad.text].filter(Boolean).join(', '),
        tone: bad.count === 0 ? 'plain' : bad.tone,
        link,
        rows: limitRows(rows, link, dumps - itemRowLimit),
      }),
    ]
  },
}

/** Errors come first, then warnings. */
function rankOf({ method }: ConsoleEntry): number {
  return ['error', 'warning', 'info', 'plain'].indexOf(consoleLevels[method])
}

function toRow(
  { at, callers = [], label = '', method, site, values }: ConsoleEntry,
  index: number,
  editor: EditorLinks,
  viewer: TreeViewer,
) {
  const table = method === 'table' ? toTable(values[0]) : undefined
  const level = consoleLevels[method]
  return {
    id: `dump-${index}`,
    index,
    lead: `+${formatMicroseconds(at)}`,
    mark: { text: method, tone: level },
    tone: level === 'warning' || level === 'error' ? level : '',
    label,
    text: shorten(writeValues(values, method), lineLimit),
    table,
    values: table === undefined ? values.map(value => toTreeView(value, method, viewer)) : [],
    where: editor.nameCaller(site),
    site: site && editor.view(site),
    callers: callers.map(caller => editor.view(caller)),
  }
}

/** Characters of the line of a call. */
const lineLimit = 300

/** The rows of the first screen of a phone: a later error is named above them. */
const rowsInSight = 10

/** The outermost object of a value is open. */
function toTreeView(tree: ValueTree, method: ConsoleMethod, viewer: TreeViewer): TreeView {
  const view = viewer.view(tree, true)
  return isPrinted(tree, method) ? { ...view, text: tree.text, start: '' } : view
}

const columnLimit = 20

/** The table of `console.table`: a row for each entry of the value, and a column for each property. */
function toTable(tree: ValueTree | undefined): PanelModel | undefined {
  const rows = tree?.entries ?? []
  const isTable = rows.length > 0 && rows.every(({ value }) => value.kind === 'object' && value.entries !== undefined)
  if (!isTable) return undefined
  const names = [...new Set(rows.flatMap(({ value }) => cellsOf(value).map(({ name }) => name)))].slice(0, columnLimit)
  const cell = (value: ValueTree, name: string) => cellsOf(value).find(entry => entry.name === name)?.value.text ?? ''
  return {
    names,
    rows: rows.map(({ name, value }) => ({ name, cells: names.map(column => cell(value, column)) })),
    rest: tree?.omitted === undefined ? '' : formatNumber(tree.omitted),
  }
}

function cellsOf({ entries = [] }: ValueTree): readonly ValueEntry[] {
  return entries
}

function writeEntry({ at, callers = [], label, method, site, values }: ConsoleEntry): string[] {
  const place = site?.file === undefined ? '' : ` at ${toSpan(formatPlace(site))}`
  const head = `+${formatMicroseconds(at)} ${method}${label === undefined ? '' : ` ${toSpan(label)}`}${place}`
  const plain = method === 'dump' ? [] : values.filter(({ kind }) => kind === 'text')
  const lines = values.map(value => (plain.includes(value) ? value.text : formatTree(value)))
  const calls = callers.map(caller => ['at', caller.function, formatPlace(caller)].filter(Boolean).join(' '))
  return [head, ...(lines.length === 0 ? [] : [toBlock([...lines, ...calls].join('\n'))])]
}
