import type { ProfilePanel } from '../panels/panel.ts'
import type { Profile } from '../profile.ts'

/** Names what can be asked for of a record: the panels, and collectors whose panels are not known here. */
export function listPanels(panels: readonly Pick<ProfilePanel, 'name'>[], { data }: Pick<Profile, 'data'>): string[] {
  return [...new Set([...panels.map(({ name }) => name), ...Object.keys(data)])]
}
