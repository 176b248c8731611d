import { recordLink } from '../links.ts'
import type { ProfilePanel } from '../panels/panel.ts'
import type { Profile } from '../profile.ts'
import type { Badge } from './to-summary-view.ts'

/** One line of the menu of panels. */
export interface MenuEntry {
  readonly label: string
  readonly link: string
  readonly isCurrent: boolean
  readonly isEmpty: boolean
  /** At most one. */
  readonly badges: readonly Badge[]
}

/** Makes the menu of a profile: first the panels that have something to show. */
export function createMenu(
  panels: readonly ProfilePanel[],
  profile: Profile,
  current: ProfilePanel | undefined,
): MenuEntry[] {
  const entries = panels.map(panel => ({
    label: panel.label,
    link: recordLink(profile.summary.token, panel.name),
    isCurrent: panel === current,
    isEmpty: !hasContent(panel, profile),
    badges: badgesOf(panel, profile),
  }))
  return [...entries.filter(({ isEmpty }) => !isEmpty), ...entries.filter(({ isEmpty }) => isEmpty)]
}

/** Whether a panel has something to show; one that cannot say has not. */
export function hasContent(panel: ProfilePanel, profile: Profile): boolean {
  try {
    return panel.hasContent(profile)
  } catch {
    return false
  }
}

/** Badges are made of what was on the disk, some of them by other bundles. */
function badgesOf(panel: ProfilePanel, profile: Profile): Badge[] {
  try {
    const badge = panel.badge?.(profile)
    return badge === undefined || badge.text === '' ? [] : [{ text: String(badge.text), tone: badge.level }]
  } catch {
    return []
  }
}
