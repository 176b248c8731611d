import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import { defaultOrder, type ListMark, type ListRequest, marks, parseListRequest } from '../../insight/list-request.ts'
import {
  type Bucket,
  describeCount,
  type ListContext,
  type ListResult,
  type RowFacts,
  searchList,
} from '../../insight/search-list.ts'
import { formatBytes, formatCount, formatNumber, formatTime, toTarget } from '../../profile/format.ts'
import { home, listDataLink } from '../../profile/links.ts'
import { clientOf } from '../../record/collect.ts'
import type { RecordingPolicy } from '../../record/recording-policy.ts'
import type { StorageUsage } from '../../store/profile-storage.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { renderPage } from '../respond.ts'
import { createRows, listColumns, type ShownColumns, selectColumns } from './list-rows.ts'
import { createSearchForm } from './search-form.ts'

/** Describes the client of a request to the search. */
export function toListContext(request: Request, facts: Pick<RowFacts, 'find'>): ListContext {
  return {
    client: clientOf(request),
    async findFindings(tokens) {
      const found = [...(await facts.find(tokens))]
      return new Set(found.flatMap(([token, { badge }]) => (badge === undefined ? [] : [token])))
    },
  }
}

/** Renders the results of a search, the search form, and the state of recording. */
export async function renderList(
  request: Request,
  facts: Pick<RowFacts, 'find'>,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'policy' | 'storage' | 'view'>,
): Promise<Response> {
  const { policy, storage } = app
  const wanted = parseListRequest(request.query)
  const { isPinned, notes, page, parameters } = wanted
  const [result, usage] = await Promise.all([
    searchList(storage, wanted, toListContext(request, facts)),
    storage.usage(),
  ])
  const { histogram, mains, pinned, profiles, unstored } = result
  const summaries = profiles.map(({ summary }) => summary)
  const known = await facts.find(summaries.map(({ token }) => token))
  const form = createSearchForm(wanted, mains)
  const shown = selectColumns(summaries, known, form.machines.length > 0)
  const model = {
    rows: createRows(profiles, {
      facts: known,
      columns: shown,
      editor: app.editor,
      unstored,
      list: { pinned, parameters: toQuery(parameters) },
    }),
    // A profile that is pinned later is not new, and a new profile moves all rows of later pages.
    liveLink: isPinned || page > 1 ? '' : `${home}live?${toQuery(parameters)}`,
    alternates: [
      { type: 'application/json', link: listDataLink('json', parameters) },
      { type: 'text/markdown', link: listDataLink('md', parameters) },
    ],
    quickFilters: createQuickFilters(wanted, result),
    histogram: createHistogramView(wanted, histogram),
    columns: createColumns(wanted, shown),
    probes: describeProbes(wanted, result),
    notes,
    form,
    ...describePage(wanted, result),
    ...describeRecording(policy, usage),
  }
  return renderPage('profiler/list', model, request, app)
}

function toQuery(parameters: Readonly<Record<string, string>>): string {
  return String(new URLSearchParams(parameters))
}

/** A link to the first page of the same list with some parameters changed; an empty one is left out. */
function linkTo({ parameters }: ListRequest, changes: Readonly<Record<string, string>>): string {
  const { page: _, ...others } = parameters
  const given = Object.entries({ ...others, ...changes }).filter(([, value]) => value !== '')
  return `?${toQuery(Object.fromEntries(given))}`
}

const filterLabels: Readonly<Record<ListMark, string>> = {
  main: 'Main requests',
  errors: 'Errors',
  slow: 'Slow',
  findings: 'Findings',
  '4xx': '4xx',
  api: 'AJAX/API',
  client: 'This client',
}

const filterHints: Readonly<Record<ListMark, string>> = {
  main: 'Without sub-requests',
  errors: 'Status 500 and above, exceptions, failed streams, crashes',
  slow: '500 ms or more, or three times the median of the route and at least 50 ms',
  findings: 'With findings: of the newest 200 requests',
  '4xx': 'Status 400 to 499',
  api: 'Requests of scripts (fetch, XMLHttpRequest) and of programs',
  client: 'Requests with your IP and browser',
}

function createQuickFilters(wanted: ListRequest, { counts, mains }: ListResult): object[] {
  if (mains.length === 0) return []
  const all = {
    label: 'All',
    hint: '',
    count: formatNumber(counts.all),
    link: linkTo(wanted, { only: '' }),
    isActive: wanted.marks.length === 0,
    tone: '',
  }
  const filters = marks.map(mark => {
    const isActive = wanted.marks.includes(mark)
    const only = isActive ? wanted.marks.filter(other => other !== mark) : [...wanted.marks, mark]
    return {
      label: filterLabels[mark],
      hint: filterHints[mark],
      count: formatNumber(counts[mark]),
      link: linkTo(wanted, { only: only.join(',') }),
      isActive,
      tone: counts[mark] === 0 ? 'none' : mark === 'errors' ? 'error' : '',
    }
  })
  return [all, ...filters]
}

/** The height of the tallest bar. */
const barHeight = 40

function createHistogramView(wanted: ListRequest, buckets: readonly Bucket[]): object | false {
  const [first] = buckets
  const last = buckets.at(-1)
  if (first === undefined || last === undefined) return false
  const most = buckets.reduce((most, bucket) => (bucket.count > most.count ? bucket : most))
  const total = buckets.reduce((sum, { count }) => sum + count, 0)
  const errors = buckets.reduce((sum, bucket) => sum + bucket.errors, 0)
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(2, Math.round((barHeight * count) / most.count)))
  const clock = (time: number) => `${formatTime(time).day} ${formatTime(time).clock}`
  const isOneDay = formatTime(first.start).day === formatTime(last.end).day
  const label = (time: number) => (isOneDay ? formatTime(time).clock : clock(time))
  return {
    width: buckets.length * 10,
    height: barHeight,
    start: formatTime(first.start),
    end: formatTime(last.end),
    sentence: `${formatCount(total, 'request')}, ${errors} failed, from ${clock(first.start)} to ${clock(last.end)} UTC; most from ${clock(most.start)}: ${formatNumber(most.count)}.`,
    bars: buckets.flatMap((bucket, index) => {
      const { count, end, errors, start } = bucket
      if (count === 0) return []
      const [height, errorHeight] = [heightOf(count), heightOf(errors)]
      return {
        x: index * 10,
        y: barHeight - height,
        height,
        errorY: barHeight - errorHeight,
        errorHeight,
        link: linkTo(wanted, { start: String(start / 1000), end: String(end / 1000 - 1) }),
        title: `${label(start)} to ${label(end)} UTC: ${formatCount(count, 'request')}${errors === 0 ? '' : `, ${errors} failed`}`,
      }
    }),
  }
}

interface Column {
  /** Its class in the styles. */
  readonly name: string
  readonly label: string
  /** Empty when the column cannot be sorted. */
  readonly link: string
  /** `ascending`, `descending`, or empty. */
  readonly sorted: string
}

const unsortable: readonly string[] = ['findings', 'token']

function createColumns(wanted: ListRequest, shown: ShownColumns): Column[] {
  const { sort = { field: 'time', direction: 'descending' } } = wanted.query
  return listColumns(shown).map(({ label, name }) => {
    const sorted = sort.field === name ? sort.direction : ''
    const order = sorted === 'descending' ? 'asc' : defaultOrder
    return { name, label, link: unsortable.includes(name) ? '' : linkTo(wanted, { sort: name, order }), sorted }
  })
}

function describePage(wanted: ListRequest, { profiles, total }: ListResult): object {
  const { page, query } = wanted
  const { offset } = query
  const count = profiles.length
  const { found, inAll } = describeCount(count, total)
  return {
    title: found,
    inAll,
    range: count > 0 && count < total ? `${formatNumber(offset + 1)}–${formatNumber(offset + count)}` : '',
    previousLink: page > 1 && count > 0 ? linkTo(wanted, { page: String(page - 1) }) : '',
    nextLink: count > 0 && offset + count < total ? linkTo(wanted, { page: String(page + 1) }) : '',
    // The requested page is after the last one.
    firstLink: count === 0 && total > 0 ? linkTo(wanted, {}) : '',
  }
}

/** The requests that browsers made by themselves, which the list leaves out; `false` without any. */
function describeProbes(wanted: ListRequest, { probes }: ListResult): object | false {
  if (probes.length === 0) return false
  const paths = [...new Set(probes.map(({ url }) => toTarget(url).replace(/\?.*/, '')))]
  return {
    count: formatCount(probes.length, 'probe of a browser', 'probes of browsers'),
    paths: paths.slice(0, 3),
    hasMore: paths.length > 3,
    link: linkTo(wanted, { type: 'probe' }),
  }
}

function describeRecording({ ignored, isPaused }: RecordingPolicy, usage: StorageUsage): object {
  const { bytes, dropped, problem, profiles } = usage
  return {
    isPaused,
    stored: formatCount(profiles, 'profile'),
    size: formatBytes(bytes),
    ignored: ignored === 0 ? '' : formatCount(ignored, 'request'),
    dropped: dropped === 0 ? '' : formatCount(dropped, 'profile'),
    problem: problem ?? '',
  }
}
