/** The collectors that a panel shows the data of, where it is not the one of its own name alone. */
const collectors: ReadonlyMap<string, readonly string[]> = new Map([
  ['request', ['request', 'response', 'session', 'redirects', 'server']],
  ['time', ['time', 'events']],
  ['config', ['config', 'server']],
  ['findings', ['late']],
])

/** Names the collectors whose data a panel shows. Those of other bundles have the name of their panel. */
export function collectorsOfPanel(panel: string): readonly string[] {
  return collectors.get(panel) ?? [panel]
}
