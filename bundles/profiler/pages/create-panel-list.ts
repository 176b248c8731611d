import type { Collector } from '../../../kernel/profiler-contract.ts'
import type { ProfilePanel } from '../panels/panel.ts'
import { toCollectorPanel } from './to-collector-panel.ts'

/**
 * The panels of the menu: the profiler's own, then those of other bundles, which may add collectors at any time. Where
 * two have one name, the first is taken.
 */
export function createPanelList(own: readonly ProfilePanel[], collectors: readonly Collector[]): ProfilePanel[] {
  const byName = new Map<string, ProfilePanel>()
  for (const panel of [...own, ...collectors.map(toCollectorPanel)]) {
    if (!byName.has(panel.name)) byName.set(panel.name, panel)
  }
  return [...byName.values()]
}
