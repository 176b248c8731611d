import type { Application } from '../../../../kernel/bundle.ts'
import type { Collector } from '../../../../kernel/profiler-contract.ts'
import type { Inspector } from '../../insight/findings/inspector.ts'
import { formatValue, toRows, toValueRow } from '../../profile/format.ts'
import type { ProfilePanel } from './panel.ts'

/** Creates the function that gives the panels in the order of the menu. Their code is loaded with its first call. */
export function createPanelLoader(
  app: Application,
  inspector: () => Promise<Inspector>,
): () => Promise<readonly ProfilePanel[]> {
  let own: Promise<readonly ProfilePanel[]> | undefined
  const load = async () => {
    const [{ createPanels }, rules] = await Promise.all([import('../../subjects/views.ts'), inspector()])
    return createPanels(app, rules)
  }
  return async () => {
    own ??= load()
    return createPanelList(await own, app.collectors)
  }
}

/**
 * Lists the panels of the menu: the profiler's own, then those of other bundles, which may add collectors at any time. If
 * two panels have the same name, the first one is used.
 */
export function createPanelList(own: readonly ProfilePanel[], collectors: readonly Collector[]): ProfilePanel[] {
  const byName = new Map<string, ProfilePanel>()
  for (const panel of [...own, ...collectors.map(toCollectorPanel)]) {
    if (!byName.has(panel.name)) byName.set(panel.name, panel)
  }
  return [...byName.values()]
}

/** Creates the panel of the collector of another bundle: with the bundle's template, by default a table of its data. */
function toCollectorPanel(collector: Collector): ProfilePanel {
  const { name, panel } = collector
  return {
    name,
    label: labelCollector(collector),
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
      // Data that is not an object is shown as a value.
      const value = rows.length > 0 || data === undefined ? '' : formatValue(data)
      const { size, start, tree, value: text } = toValueRow({ name, value })
      return { rows, size, start, text, tree }
    },
  }
}

/** The label of a collector. Without one, its name is written as words: `feature-flags` is `Feature flags`. */
export function labelCollector({ name, panel }: Collector): string {
  if (panel !== undefined) return panel.label
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[\s_.-]+/)
    .filter(Boolean)
    .join(' ')
    .toLowerCase()
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1)
}
