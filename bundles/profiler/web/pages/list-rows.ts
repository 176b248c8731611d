import type { ListEntry, RowFact } from '../../insight/search-list.ts'
import { type Badge, type SummaryView, toSummaryView, withBadge } from '../../insight/summary-view.ts'
import { formatBytes, shorten } from '../../profile/format.ts'
import { listChangeLink, profileLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { findDefinition } from '../answer-place.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'

/** The columns that are only shown if they distinguish rows. */
export interface ShownColumns {
  readonly hasRoutes: boolean
  readonly hasFindings: boolean
  readonly hasQueries: boolean
  readonly hasSizes: boolean
  readonly hasMemory: boolean
  readonly hasMachines: boolean
  /** Whether the URLs have their host. */
  readonly hasHosts: boolean
}

const columns: readonly (readonly [name: string, label: string, needs?: keyof ShownColumns])[] = [
  ['status', 'Status'],
  ['ip', 'IP'],
  ['method', 'Method'],
  ['url', 'URL'],
  ['route', 'Route', 'hasRoutes'],
  ['machine', 'Machine', 'hasMachines'],
  ['findings', 'Findings', 'hasFindings'],
  ['queries', 'Queries', 'hasQueries'],
  ['queryTime', 'Query time', 'hasQueries'],
  ['size', 'Size', 'hasSizes'],
  ['memory', 'Heap', 'hasMemory'],
  ['duration', 'Duration'],
  ['time', 'Time'],
  ['token', 'Token'],
]

/** Lists the columns of rows: their classes in the styles, which are fields of a summary, and their titles. */
export function listColumns(shown: ShownColumns): { readonly name: string; readonly label: string }[] {
  const isShown = ([, , needs]: (typeof columns)[number]) => needs === undefined || shown[needs]
  return columns.filter(isShown).map(([name, label]) => ({ name, label }))
}

/** A row of the list of profiles: a main request, or a sub-request below it. */
interface RowView extends SummaryView, ShownColumns {
  /** The class of its level: empty for a row that is not below its main request. */
  readonly level: string
  /** The text of its link: the URL. */
  readonly name: string
  /** The place that answered it: the controller if the route does not name it, or else file and line. */
  readonly handler: PlaceView | false
  /** How long after its main request it began: `+ 12.3 ms`. */
  readonly after: string
  readonly size: string
  readonly findings:
    | { readonly count: string; readonly unit: string; readonly tone: string; readonly link: string }
    | false
  /** `query` or `queries`: narrow screens have no titles of columns. */
  readonly queryUnit: string
  /** The length of its bar, in hundredths of the longest. */
  readonly share: string
  /** `false` where rows cannot be selected and pinned. */
  readonly actions: { readonly isPinned: boolean; readonly pinLink: string } | false
}

/** The options of a list of rows. */
interface RowOptions {
  /** Makes places links. */
  readonly editor: EditorLinks
  /** By default those of the content. */
  readonly columns?: ShownColumns
  /** The findings and the places of profiles, by token. */
  readonly facts?: ReadonlyMap<string, RowFact>
  /** Tokens of profiles that are only in memory, because the disk is full or failing. */
  readonly unstored?: ReadonlySet<string> | undefined
  /** The pinned tokens, and the parameters of the list. */
  readonly list?: {
    readonly pinned: ReadonlySet<string>
    readonly parameters: string
  }
}

const notStored: Badge = { text: 'not stored', tone: 'warning' }

/** A memory use that differs by more than this says something about the request. */
const memorySpan = 32 * 1024 * 1024

/** Chooses the columns for the content of a list. `hasMachines` is whether the store has profiles of several machines. */
export function selectColumns(
  summaries: readonly ProfileSummary[],
  facts?: RowOptions['facts'],
  hasMachines = false,
): ShownColumns {
  const differ = (read: (summary: ProfileSummary) => string) => new Set(summaries.map(read)).size > 1
  const memory = summaries.map(summary => summary.memory)
  return {
    hasRoutes: summaries.some(({ route }) => route !== null),
    hasMachines,
    hasHosts: differ(({ url }) => hostOf(url)),
    hasFindings: summaries.some(({ token }) => facts?.get(token)?.badge !== undefined),
    hasQueries: summaries.some(({ queries }) => queries > 0),
    hasSizes: summaries.some(({ size }) => size !== null),
    hasMemory: Math.max(...memory) - Math.min(...memory) > memorySpan,
  }
}

function hostOf(url: string): string {
  return /^https?:\/\/([^/]*)/.exec(url)?.[1] ?? ''
}

/** Characters of a URL in a row, and in the label of a control. The profile has all of it. */
const addressLimit = 500
const labelLimit = 200

/** Creates the rows of a list. */
export function createRows(
  profiles: readonly ListEntry[],
  { columns: chosen, editor, facts, list, unstored }: RowOptions,
): RowView[] {
  const summaries = profiles.map(({ summary }) => summary)
  const columns = chosen ?? selectColumns(summaries, facts)
  /** The sub-requests that have rows below their main requests, by the token that made them. */
  const listed = new Map<string | null, number>()
  for (const { depth, summary } of profiles) {
    if (depth > 0) listed.set(summary.parent, (listed.get(summary.parent) ?? 0) + 1)
  }
  const longest = summaries.reduce((longest, { duration }) => Math.max(longest, duration), 0)
  return profiles.map(({ depth, main, summary }) => {
    const { duration, queries, size, token, url } = summary
    // Its badge counts the sub-requests without a row: they are on another page, or do not match.
    const shown = { ...summary, subRequests: summary.subRequests - (listed.get(token) ?? 0) }
    const view = withBadge(toSummaryView(shown), unstored?.has(token) ? notStored : undefined)
    return {
      ...view,
      address: shorten(view.address, addressLimit),
      target: shorten(view.target, labelLimit),
      ...columns,
      level: depth === 0 ? '' : `level-${Math.min(depth, 4)}`,
      after: depth === 0 ? '' : `+ ${Math.max(0, summary.time - main.time)} ms`,
      name: shorten(`${columns.hasHosts ? hostOf(url) : ''}${view.target}`, addressLimit),
      handler: viewHandler(summary, facts?.get(token)?.place, editor),
      size: size === null ? '' : formatBytes(size),
      findings: toFindings(token, facts?.get(token)?.badge),
      queryUnit: queries === 1 ? 'query' : 'queries',
      share: (longest === 0 ? 0 : Math.min(100, (100 * duration) / longest)).toFixed(1),
      actions: list !== undefined && createActions(token, list),
    }
  })
}

/** Views the place that answered a request. The row of a sub-request already has the name of its controller. */
function viewHandler(summary: ProfileSummary, answered: string | undefined, editor: EditorLinks): PlaceView | false {
  const { controller, parent, route } = summary
  const defined = findDefinition(summary, editor)
  const place = answered || defined
  const isNamed = controller !== null && parent === null && !isSameName(route ?? '', controller)
  if (isNamed && place === defined) return editor.viewController(controller)
  return editor.viewFile(place)
}

/** Whether a controller has the name of its route, but for its notation. */
function isSameName(route: string, controller: string): boolean {
  const simplify = (name: string) => name.toLowerCase().replace(/[^a-z0-9]|controller$/g, '')
  return simplify(route) === simplify(controller)
}

function toFindings(token: string, badge: Badge | undefined): RowView['findings'] {
  if (badge === undefined) return false
  const [count = '', unit = ''] = badge.text.split(' ')
  return { count, unit, tone: badge.tone, link: profileLink(token, 'findings') }
}

function createActions(token: string, { parameters, pinned }: NonNullable<RowOptions['list']>): RowView['actions'] {
  const isPinned = pinned.has(token)
  return { isPinned, pinLink: listChangeLink(token, isPinned ? 'unpin' : 'pin', parameters) }
}
