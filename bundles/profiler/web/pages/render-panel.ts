import { flattenError } from '../../../../lib/errors/flat-error.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { HtmlFragment } from '../../../../lib/view/view.ts'
import { compareWithPrevious } from '../../insight/compare/judge-comparison.ts'
import { divideTime } from '../../insight/overview/time-parts.ts'
import {
  findChildren,
  findLinked,
  findOccurrences,
  type Relatives,
  type ShownProfile,
} from '../../insight/relatives.ts'
import { isDirect, planReplay } from '../../insight/replay/replay.ts'
import type { Badge } from '../../insight/summary-view.ts'
import type { Inspected, PanelProfile, PanelServices, SubjectView } from '../../panels/subject-view.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink, replayLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import { hasPart, unitOf } from '../../profile/units.ts'
import { listUnseen } from '../../profile/work.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { ProfilerApplication } from '../page.ts'

/**
 * Renders a panel before its page: a panel that fails, because the profile is damaged, does not break the page. A panel
 * without content may fail, because templates of other bundles need not support missing data.
 */
export async function renderPanel(
  panel: SubjectView,
  shown: PanelProfile,
  request: Request,
  app: PanelServices & Pick<ProfilerApplication, 'logger'>,
) {
  const unseen = listUnseen(shown.profile, panel.name)
  const none = { content: new HtmlFragment(''), unseen, problem: '' }
  try {
    // It would say that there is nothing.
    if (unseen.length > 0 && !panel.hasContent(shown)) return { ...none, isEmpty: false }
    const model = await panel.toView(shown, app)
    const content = new HtmlFragment(await app.view.render(panel.template, model, request))
    return { ...none, content, isEmpty: false }
  } catch (error) {
    if (!hasContent(panel, shown)) return { ...none, isEmpty: true }
    app.logger
      .channel('profiler')
      .warning('The panel "{panel}" cannot be displayed.', { panel: panel.name, exception: error })
    return { ...none, isEmpty: false, problem: flattenError(error, { hasFrames: false }).message }
  }
}

/**
 * Creates the profile that panels show, which reads related profiles from the store. `query` has
 * the filters of a panel.
 */
export function createPanelProfile(
  shown: ShownProfile & Pick<Relatives, 'summaries'>,
  query: URLSearchParams,
  storage: Pick<ProfileStorage, 'find'>,
): PanelProfile {
  const { summaries } = shown
  return {
    ...shown,
    query,
    findChildren: profile => findChildren(storage, summaries, profile),
    findOccurrences: ({ summary }) => findOccurrences(summaries, summary),
    findLinked: ({ summary }) => findLinked(summaries, summary),
    findPrevious: profile => compareWithPrevious(storage, summaries, profile),
  }
}

/** One line of the menu of panels. */
interface MenuEntry {
  readonly label: string
  readonly link: string
  readonly isCurrent: boolean
  readonly isEmpty: boolean
  /** Whether it shows a tenth of the time of the request. */
  readonly isLong: boolean
  /** At most one. */
  readonly badges: readonly Badge[]
}

/** Creates the menu of a profile, in the order of the panels. */
export function createMenu(
  panels: readonly SubjectView[],
  shown: Inspected,
  current: SubjectView | undefined,
): MenuEntry[] {
  const long = listLongPanels(shown.profile)
  return panels
    .filter(({ name }) => hasPart(shown.profile.summary, name))
    .map(panel => ({
      label: panel.label,
      // The page stays where it is: the panel begins below the head. What is bad comes first.
      link: `${profileLink(shown.profile.summary.token, panel.name)}#${panel.countBad?.(shown.profile).anchor ?? 'panel'}`,
      isCurrent: panel === current,
      isEmpty: !hasContent(panel, shown),
      isLong: long.includes(panel.name),
      badges: badgesOf(panel, shown),
    }))
}

/** A panel with this share of the time is an answer to where the time went. */
const leastShare = 0.1

function listLongPanels(profile: Profile): string[] {
  const panels = groupBy(divideTime(profile), ({ place }) => place.panel)
  const least = profile.summary.duration * 1000 * leastShare
  return [...panels]
    .filter(([, parts]) => parts.reduce((sum, { time }) => sum + time, 0) >= least)
    .map(([name]) => name)
}

/** The panels that are in sight if they have content. The others are behind "More". */
const menuLimit = 9

/**
 * Divides a menu: a panel without content is never in sight, one with a failure or a tenth of the time always. Panels
 * with trouble follow the first one.
 */
export function divideMenu(entries: readonly MenuEntry[]) {
  const [start] = entries
  const hasTrouble = ({ badges }: MenuEntry) => badges.some(({ tone }) => tone === 'error' || tone === 'warning')
  const isInSight = (entry: MenuEntry, index: number) =>
    index < menuLimit ? entry.isCurrent || !entry.isEmpty : !entry.isEmpty && (entry.isLong || hasTrouble(entry))
  const rank = (entry: MenuEntry) => (entry === start ? 0 : hasTrouble(entry) ? 1 : 2)
  const first = entries.filter(isInSight).sort((a, b) => rank(a) - rank(b))
  const more = entries.filter(entry => !first.includes(entry))
  return { first, more, isOpen: more.some(({ isCurrent }) => isCurrent) }
}

/** Lists the names of the parts of a profile: the panels, and the collectors of its data that have no panel here. */
export function listPanels(panels: readonly Pick<SubjectView, 'name'>[], { data }: Pick<Profile, 'data'>): string[] {
  return [...new Set([...panels.map(({ name }) => name), ...Object.keys(data)])]
}

/** Whether a panel has content, or would have some of a library that is not seen; false if it fails. */
export function hasContent(panel: SubjectView, shown: Inspected): boolean {
  try {
    const { profile } = shown
    return (
      hasPart(profile.summary, panel.name) && (panel.hasContent(shown) || listUnseen(profile, panel.name).length > 0)
    )
  } catch {
    return false
  }
}

/** A badge that fails is left out: its data is from the disk, and its code may be of another bundle. */
function badgesOf(panel: SubjectView, shown: Inspected): Badge[] {
  try {
    const badge = panel.badge?.(shown)
    return badge === undefined || badge.text === '' ? [] : [{ text: String(badge.text), tone: badge.level }]
  } catch {
    return []
  }
}

/** Creates the replay button of a profile; `false` for work that is no request. */
export function toReplayButton(profile: Profile) {
  if (!unitOf(profile.summary).isExchange) return false
  return { link: replayLink(profile.summary.token), isDirect: isDirect(planReplay(profile)) }
}
