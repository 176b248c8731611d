import { flattenError } from '../../../../lib/errors/flat-error.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { HtmlFragment } from '../../../../lib/view/view.ts'
import { isDirect, planReplay } from '../../insight/replay/plan-replay.ts'
import type { Badge } from '../../insight/summary-view.ts'
import { recordLink, replayLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import type { PanelSubject, ProfilePanel } from './panel.ts'

/** What a panel has become. */
export interface RenderedPanel {
  readonly content: HtmlFragment
  /** Whether there is nothing to show, not even a page that says so. */
  readonly isEmpty: boolean
  /** Why it cannot be shown; empty when it can. */
  readonly problem: string
}

/**
 * Renders a panel by itself, before the page: one that fails, because a record is damaged, costs nothing but itself. One
 * that has no content may fail: templates of other bundles need not know how to show nothing.
 */
export async function renderPanel(
  panel: ProfilePanel,
  subject: PanelSubject,
  request: Request,
  { logger, view }: Pick<ProfilerApplication, 'logger' | 'view'>,
): Promise<RenderedPanel> {
  try {
    const model = await panel.toView(subject)
    const content = new HtmlFragment(await view.render(panel.template, model, request))
    return { content, isEmpty: false, problem: '' }
  } catch (error) {
    const content = new HtmlFragment('')
    if (!hasContent(panel, subject.profile)) return { content, isEmpty: true, problem: '' }
    logger
      .channel('profiler')
      .warning('The panel "{panel}" cannot be displayed.', { panel: panel.name, exception: error })
    return { content, isEmpty: false, problem: flattenError(error, { hasFrames: false }).message }
  }
}

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

/** What replays a record: a button, or a link to the page that asks first. */
export interface ReplayButton {
  readonly link: string
  readonly isDirect: boolean
}

/** Makes the button that replays a record. */
export function toReplayButton(profile: Profile): ReplayButton {
  return { link: replayLink(profile.summary.token), isDirect: isDirect(planReplay(profile)) }
}
