import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { addCalled } from '../../insight/called.ts'
import { mainRequests } from '../../insight/relatives.ts'
import { isDirect, planReplay } from '../../insight/replay/replay.ts'
import { toSummaryView } from '../../insight/summary-view.ts'
import type { Inspected, SearchEntry, SubjectView } from '../../panels/subject-view.ts'
import { shorten } from '../../profile/format.ts'
import {
  changeLink,
  compareWithPreviousLink,
  cpuLink,
  exportLink,
  home,
  latestLink,
  profileDataLink,
  profileLink,
  replayLink,
  routesLink,
  toolbarLink,
} from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { StoredProfile } from '../../store/profile-storage.ts'
import { type ProfilerApplication, protect } from '../page.ts'
import { createMenu } from './render-panel.ts'

interface PaletteEntry extends Omit<SearchEntry, 'anchor'> {
  readonly link: string
  /** `post` sends a form to the link, `copy` copies the text at the link. By default the link is opened. */
  readonly act?: 'post' | 'copy'
}

/** The most entries of each kind. */
const limits = { profiles: 30, routes: 300 }

/** The most characters of a label or hint. */
const textLimit = 160

/** Answers with the entries of the palette: those of a profile, if the query names one, and those of every page. */
export async function renderPalette(
  { query }: Request,
  app: Pick<ProfilerApplication, 'inspector' | 'panels' | 'policy' | 'routes' | 'storage'>,
): Promise<Response> {
  const token = query.get('profile') ?? ''
  const [found, recent, panels, inspector] = await Promise.all([
    token === '' ? undefined : app.storage.find(token),
    app.storage.search({ filters: [mainRequests], limit: limits.profiles }),
    app.panels(),
    app.inspector(),
  ])
  const [shown] = found === undefined ? [] : await addCalled([found.profile], app.storage, 0)
  const entries: PaletteEntry[] = [
    ...(found === undefined || shown === undefined
      ? []
      : listPanels(panels, { ...found, findings: inspector.inspect(shown) })),
    ...(found === undefined ? [] : listActions(found)),
    ...listPages(app),
    ...(found === undefined ? [] : panels.flatMap(panel => listParts(panel, found.profile))),
    ...listRoutes(app),
    ...recent.summaries.map(toSummaryView).map(({ duration, link, method, status, target, token }) => ({
      group: 'Profile',
      label: `${method} ${target}`.trim(),
      hint: `${status} · ${duration} · ${token}`,
      link,
    })),
  ]
  return protect(Response.json(entries.map(cutEntry)))
}

function cutEntry(entry: PaletteEntry): PaletteEntry {
  const { hint, label } = entry
  return { ...entry, label: shorten(label, textLimit), ...(hint !== undefined && { hint: shorten(hint, textLimit) }) }
}

function listPanels(panels: readonly SubjectView[], shown: Inspected): PaletteEntry[] {
  return createMenu(panels, shown, undefined)
    .filter(({ isEmpty }) => !isEmpty)
    .map(({ label, link }) => ({ group: 'Panel', label, link }))
}

/** What is found in a panel. */
function listParts({ name, toEntries }: SubjectView, profile: Profile): PaletteEntry[] {
  const link = profileLink(profile.summary.token, name)
  return (toEntries?.(profile) ?? []).map(({ anchor, ...entry }) => ({ ...entry, link: `${link}#${anchor}` }))
}

function listActions({ isPinned, profile }: StoredProfile): PaletteEntry[] {
  const { token } = profile.summary
  const action = (label: string, link: string, act?: PaletteEntry['act']): PaletteEntry => ({
    group: 'Action',
    label,
    link,
    ...(act && { act }),
  })
  return [
    action('Copy as curl', exportLink(token, 'curl'), 'copy'),
    action('Copy as Markdown', profileDataLink(token, 'md'), 'copy'),
    action('Replay', replayLink(token), isDirect(planReplay(profile)) ? 'post' : undefined),
    action('Compare with previous', compareWithPreviousLink(token)),
    isPinned
      ? action('Unpin', changeLink(token, 'unpin', ''), 'post')
      : action('Pin', changeLink(token, 'pin', ''), 'post'),
    action('Export as HAR', exportLink(token, 'har')),
    action('Export as HTML', exportLink(token, 'html')),
    action('Export as JSON', exportLink(token, 'json')),
  ]
}

function listPages({ policy }: Pick<ProfilerApplication, 'policy'>): PaletteEntry[] {
  const page = (label: string, link: string) => ({ group: 'Page', label, link })
  return [
    page('Profiles', home),
    page('Latest profile', latestLink()),
    page('Routes', routesLink()),
    page('CPU profile', cpuLink),
    policy.isPaused
      ? { group: 'Action', label: 'Resume recording', link: `${home}resume`, act: 'post' }
      : { group: 'Action', label: 'Pause recording', link: `${home}pause`, act: 'post' },
  ]
}

/**
 * The routes of the application, with links to their statistics; then those of the framework, such as `_preview_error`.
 */
function listRoutes({ routes }: Pick<ProfilerApplication, 'routes'>): PaletteEntry[] {
  const isOfFramework = (name: string) => Number(name.startsWith('_'))
  return [...routes]
    .filter(({ path }) => !path.source.startsWith(home) && !path.source.startsWith(toolbarLink('')))
    .sort((one, other) => isOfFramework(one.name) - isOfFramework(other.name))
    .slice(0, limits.routes)
    .map(({ methods, name, path }) => ({
      group: 'Route',
      label: name,
      hint: [...methods, path.source].join(' '),
      link: routesLink({ route: name }),
    }))
}
