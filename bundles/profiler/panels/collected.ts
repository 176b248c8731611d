import type { Collector, CollectorToolbarItem } from '../../../kernel/contracts/collectors.ts'
import { formatValue, toRows, toValueRow } from '../profile/format.ts'
import { profileLink } from '../profile/links.ts'
import type { SubjectView } from './subject-view.ts'
import { cutText, item, limitRows, row } from './toolbar-items.ts'

/** Creates the view of the collector of another bundle: with the bundle's template, by default a table of its data. */
export function createCollectorView(collector: Collector): SubjectView {
  const { name, panel } = collector
  const label = labelCollector(collector)
  return {
    name,
    label,
    template: panel?.template ?? 'profiler/collected',
    hasContent: ({ profile }) => profile.data[name] !== undefined,

    badge({ profile: { data } }) {
      const text = data[name] === undefined ? '' : (panel?.badge?.(data[name]) ?? '')
      return { text, level: 'plain' }
    },

    toView({ profile }) {
      const data = profile.data[name]
      if (panel !== undefined) return { data }
      const rows = toRows(data).map(toValueRow)
      // Data that is not an object is shown as a value.
      const value = rows.length > 0 || data === undefined ? '' : formatValue(data)
      const { size, start, tree, value: text } = toValueRow({ name, value })
      return { rows, size, start, text, tree }
    },

    toItems({ profile: { data }, summary }) {
      const shown = name in data ? readItem(collector, data[name]) : undefined
      if (shown === undefined) return []
      const { details = {}, text, tone = 'plain' } = shown
      const link = profileLink(summary.token, name)
      const rows = Object.entries(details).map(([name, value]) => row(name, cutText(formatValue(value))))
      return [
        item(
          { name, label },
          {
            order: 160,
            text: cutText(formatValue(text)),
            tone,
            link,
            rows: limitRows(rows, link, rows.length - detailLimit, detailLimit),
          },
        ),
      ]
    },
  }
}

/** The most details of an item. */
const detailLimit = 10

/** An item that fails is left out: its data is from the disk, and its code is of another bundle. */
function readItem(collector: Collector, data: unknown): CollectorToolbarItem | undefined {
  try {
    return collector.toolbar?.(data)
  } catch {
    return undefined
  }
}

/** The label of a collector. Without one, its name is written as words: `feature-flags` is `Feature flags`. */
function labelCollector({ name, panel }: Collector): string {
  if (panel !== undefined) return panel.label
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[\s_.-]+/)
    .filter(Boolean)
    .join(' ')
    .toLowerCase()
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1)
}
