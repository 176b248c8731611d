import type { Collector, CollectorToolbarItem } from '../../../../kernel/profiler-contract.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { profileLink } from '../../profile/links.ts'
import { labelCollector } from '../panels/load-panels.ts'
import { cutText, item, limitRows, row, type ToolbarItem } from './toolbar-items.ts'

/** The most details of an item. */
const detailLimit = 10

/** Creates the items of the collectors of bundles, for the collectors that have one. */
export function toCollectorItems(
  { profile }: ShownProfile,
  { token }: SummaryView,
  collectors: readonly Collector[],
): ToolbarItem[] {
  return collectors.flatMap(collector => {
    const { name } = collector
    const shown = name in profile.data ? readItem(collector, profile.data[name]) : undefined
    if (shown === undefined) return []
    const { details = {}, text, tone = 'plain' } = shown
    const link = profileLink(token, name)
    const rows = Object.entries(details).map(([name, value]) => row(name, cutText(String(value))))
    return item(name, labelCollector(collector), {
      text: cutText(String(text)),
      tone,
      link,
      rows: limitRows(rows, link, rows.length - detailLimit, detailLimit),
    })
  })
}

/** An item that fails is left out: its data is from the disk, and its code is of another bundle. */
function readItem(collector: Collector, data: unknown): CollectorToolbarItem | undefined {
  try {
    return collector.toolbar?.(data)
  } catch {
    return undefined
  }
}
