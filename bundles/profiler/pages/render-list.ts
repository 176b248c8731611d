import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import { formatBytes } from '../format/format-bytes.ts'
import { formatCount } from '../format/format-count.ts'
import { home, listDataLink } from '../links.ts'
import type { RecordingPolicy } from '../recording/recording-policy.ts'
import type { StorageUsage } from '../store/profile-storage.ts'
import { createRows } from './create-rows.ts'
import { createSearchForm } from './create-search-form.ts'
import type { PageServices } from './page-services.ts'
import { defaultOrder, type ListRequest, parseListRequest, sortableFields } from './parse-list-request.ts'
import { searchList } from './search-list.ts'

/** Renders the list of what a search finds, the form to search with, and the state of recording. */
export async function renderList(request: Request, services: PageServices): Promise<Response> {
  const { pages, policy, storage } = services
  const wanted = parseListRequest(request.query)
  const { isPinned, notes, page, parameters, query } = wanted
  const [{ pinned, summaries, total, unstored }, usage] = await Promise.all([
    searchList(storage, wanted),
    storage.usage(),
  ])
  const isGrouped = query.sort === undefined || query.sort.field === 'time'
  const count = summaries.length
  const badges = await services.badges.find(summaries.map(({ token }) => token))
  const model = {
    title: count === 0 ? 'No results found' : `${count} results found`,
    rows: createRows(summaries, {
      badges,
      isGrouped,
      unstored,
      list: { pinned, parameters: `${new URLSearchParams(parameters)}` },
    }),
    // What is pinned later is no news, and other pages than the first only move.
    liveLink: isPinned || page > 1 ? '' : `${home}live?${new URLSearchParams(parameters)}`,
    alternates: [
      { type: 'application/json', link: listDataLink('json', parameters) },
      { type: 'text/markdown', link: listDataLink('md', parameters) },
    ],
    columns: createColumns(wanted),
    notes,
    form: createSearchForm(wanted),
    ...describePage(wanted, count, total),
    ...describeRecording(policy, usage),
  }
  return pages.render('profiler/list', model, request)
}

/** Links of the list change its query, and keep the rest of it. */
function linkTo({ parameters }: ListRequest, changes: Readonly<Record<string, string>>): string {
  const { page: _, ...others } = parameters
  return `?${new URLSearchParams({ ...others, ...changes })}`
}

interface Column {
  readonly label: string
  /** Empty when there is nothing to sort by. */
  readonly link: string
  /** `ascending`, `descending`, or empty. */
  readonly sorted: string
}

const labels: Readonly<Record<(typeof sortableFields)[number], string>> = {
  status: 'Status',
  ip: 'IP',
  method: 'Method',
  url: 'URL',
  route: 'Route',
  duration: 'Duration',
  time: 'Time',
}

function createColumns(wanted: ListRequest): Column[] {
  const { sort } = wanted.query
  const sortable = sortableFields.map(field => {
    const sorted = sort?.field === field ? sort.direction : ''
    const order = sorted === 'descending' ? 'asc' : defaultOrder
    return { label: labels[field], link: linkTo(wanted, { sort: field, order }), sorted }
  })
  return [...sortable, { label: 'Token', link: '', sorted: '' }]
}

function describePage(wanted: ListRequest, count: number, total: number): object {
  const { page, query } = wanted
  const from = query.offset + 1
  const to = query.offset + count
  const isPaged = count > 0 && count < total
  return {
    range: isPaged ? `${from.toLocaleString('en')}–${to.toLocaleString('en')} of ${total.toLocaleString('en')}` : '',
    previousLink: page > 1 && total > 0 ? linkTo(wanted, { page: String(page - 1) }) : '',
    nextLink: count > 0 && to < total ? linkTo(wanted, { page: String(page + 1) }) : '',
    // Beyond the last page.
    firstLink: count === 0 && total > 0 ? linkTo(wanted, {}) : '',
  }
}

function describeRecording({ ignored, isPaused }: RecordingPolicy, usage: StorageUsage): object {
  const { bytes, dropped, problem, profiles } = usage
  return {
    isPaused,
    stored: formatCount(profiles, 'record'),
    size: formatBytes(bytes),
    ignored: ignored === 0 ? '' : formatCount(ignored, 'request'),
    dropped: dropped === 0 ? '' : formatCount(dropped, 'record'),
    problem: problem ?? '',
  }
}
