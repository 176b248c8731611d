import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { mainRequests } from '../../insight/relatives.ts'
import { isDirect, planReplay } from '../../insight/replay/replay.ts'
import { toSummaryView } from '../../insight/summary-view.ts'
import { shorten, toPairRows } from '../../profile/format.ts'
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
import type { Pairs } from '../../profile/schema.ts'
import type { StoredProfile } from '../../store/profile-storage.ts'
import { readLogs } from '../../subjects/logs/read.ts'
import { readQueries } from '../../subjects/queries/read.ts'
import { type ProfilerApplication, protect } from '../page.ts'
import { createMenu } from '../panels/render-panel.ts'
import type { Inspected, SubjectView } from '../panels/subject-view.ts'
import { rowId } from '../panels/value-origins.ts'

/** An entry of the palette. */
interface PaletteEntry {
  readonly group: string
  readonly label: string
  /** Further text that is searched, such as a value. */
  readonly hint?: string
  readonly link: string
  /** `post` sends a form to the link, `copy` copies the text at the link. By default the link is opened. */
  readonly act?: 'post' | 'copy'
}

/** The most entries of each kind. */
const limits = { headers: 100, logs: 200, profiles: 30, queries: 200, routes: 300 }

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
  const entries: PaletteEntry[] = [
    ...(found === undefined ? [] : listPanels(panels, { ...found, findings: inspector.inspect(found.profile) })),
    ...(found === undefined ? [] : listActions(found)),
    ...listPages(app),
    ...(found === undefined ? [] : listParts(found.profile)),
    ...listRoutes(app),
    ...recent.summaries.map(toSummaryView).map(({ duration, link, method, status, target, token }) => ({
      group: 'Profile',
      label: `${method} ${target}`,
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

/** The headers, attributes, queries and log messages of a profile. */
function listParts(profile: Profile): PaletteEntry[] {
  const { request, response } = profile.collectors
  const panel = (name: string) => profileLink(profile.summary.token, name)
  const pairs = (group: string, fields: Pairs | undefined, idOf: (name: string) => string) =>
    toPairRows(fields)
      .slice(0, limits.headers)
      .map(({ name, value }) => ({ group, label: name, hint: value, link: `${panel('request')}#${idOf(name)}` }))
  return [
    ...pairs('Response header', response?.headers, name => rowId('header', name)),
    ...pairs('Request header', request?.headers, () => 'request'),
    ...pairs('Attribute', request?.attributes, name => rowId('attribute', name)),
    ...readQueries(profile)
      .queries.slice(0, limits.queries)
      .map(({ index, kind, text }) => ({ group: 'Query', label: text, link: `${panel(kind)}#query-${index}` })),
    ...readLogs(profile)
      .logs.slice(0, limits.logs)
      .map(({ channel, index, level, message }) => ({
        group: 'Log message',
        label: message,
        hint: `${level} ${channel}`,
        link: `${panel('logger')}#log-${index}`,
      })),
  ]
}

/** The routes of the application, with links to their statistics; then those of the framework, such as `_preview_error`. */
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
