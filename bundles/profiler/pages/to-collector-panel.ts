import type { Collector } from '../../../kernel/profiler-contract.ts'
import { formatValue, toRows } from '../format/format-value.ts'
import { toValueRow } from '../format/value-row.ts'
import type { ProfilePanel } from '../panels/panel.ts'

/** Makes the panel of another bundle's collector: as the bundle says, else a table of what was told. */
export function toCollectorPanel({ name, panel }: Collector): ProfilePanel {
  return {
    name,
    label: panel?.label ?? name,
    template: panel?.template ?? 'profiler/collected',
    hasContent: ({ data }) => data[name] !== undefined,
    badge({ data }) {
      const text = data[name] === undefined ? '' : (panel?.badge?.(data[name]) ?? '')
      return { text, level: 'plain' }
    },
    toView({ profile }) {
      const data = profile.data[name]
      if (panel !== undefined) return { data }
      const rows = toRows(data).map(toValueRow)
      // What has no names is shown as it is.
      const text = rows.length > 0 || data === undefined ? '' : formatValue(data)
      return { rows, text }
    },
  }
}
