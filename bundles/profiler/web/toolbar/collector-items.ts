import type { Collector, CollectorToolbarItem } from '../../../../kernel/profiler-contract.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { profileLink } from '../../profile/links.ts'
import { cutText, item, itemRowLimit, row, type ToolbarItem } from './toolbar-items.ts'

/** Creates the items of the collectors of bundles, for the collectors that have one. */
export function toCollectorItems(
  { profile }: ShownProfile,
  { token }: SummaryView,
  collectors: readonly Collector[],
): ToolbarItem[] {
  return collectors.flatMap(collector => {
    const { name, panel } = collector
    const shown = name in profile.data ? readItem(collector, profile.data[name]) : undefined
    if (shown === undefined) return []
    const { details = {}, text, tone = 'plain' } = shown
    return item(name, panel?.label ?? name, {
      text: cutText(String(text)),
      tone,
      link: profileLink(token, name),
      rows: Object.entries(details)
        .slice(0, 2 * itemRowLimit)
        .map(([name, value]) => row(name, cutText(String(value)))),
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
