import type { Request } from '../../../lib/http/request.ts'
import type { HelperCall, View } from '../../../lib/view/view.ts'
import { formatCount } from '../profile/format.ts'
import { home } from '../profile/links.ts'

/** The most rows of a table on a page. */
const rowLimit = 100

/** The most characters of data in these rows: fewer rows are on a page if they are long. */
const sizeLimit = 100_000

/** Characters of a value that a page shows. */
const valueLimit = 1000

/** A row of a table, as far as its page depends on it. */
interface Row {
  /** The id of its element. */
  readonly id?: string
  /** Its number, for an id such as `log-4`. */
  readonly index?: number
  /** The numbers of all records that the row stands for. */
  readonly ids?: readonly number[]
  readonly again?: readonly number[]
  /** Whether the filter of the query hides it. */
  readonly isHidden?: boolean
}

/** The content of the template `profiler/row-pages`: the links below a table that has more rows. */
interface RowPages {
  /** The id of the table. */
  readonly table: string
  /** `101–200 of 490`. */
  readonly range: string
  readonly previousLink: string
  readonly nextLink: string
}

/**
 * Adds the helpers that keep the pages of the profiler small, whatever was recorded. Applications have the same helpers, so the names are long.
 *
 * `(profilerRows lines 'logs' 'log-')` are the rows of the page that the query names: `?logs=2`. `(profilerPages lines 'logs' 'log-')` has the
 * links to the other pages, or is `false` if one page has all rows. `logs` is the id of the table. The optional `log-` is the beginning
 * of the ids of its rows: `?find=log-4` asks for the page with that row. If the rows need several pages, those that a filter hides are
 * left out, because a script does not see all rows.
 *
 * `{{profilerCut text}}` is the beginning of a long text; `(profilerWhole text)` leads to all of it, if it is cut.
 */
export function addSizeHelpers(view: Pick<View, 'addHelper'>): void {
  view.addHelper('profilerRows', call => choosePage(call).rows)
  view.addHelper('profilerPages', call => choosePage(call).pages)
  view.addHelper('profilerCut', ({ positional: [text], request }) => {
    const whole = String(text ?? '')
    return hasAddress(request) ? cutValue(whole) : whole
  })
  view.addHelper('profilerWhole', ({ positional: [text], request }) => {
    const isCut = hasAddress(request) && String(text ?? '').length > valueLimit
    return isCut ? `${request.path}.json` : ''
  })
}

/** Whether a page is at an address of the profiler. An error page and a standalone file have nothing else to link to: they are whole. */
function hasAddress(request: Request | undefined): request is Request {
  return request?.path.startsWith(home) ?? false
}

/** The beginning of a long text, and how much is missing; a short text as it is. */
export function cutValue(text: string, limit: number = valueLimit): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit).toWellFormed()} … ${formatCount(text.length - limit, 'more character')}`
}

function choosePage({ positional, request }: HelperCall): { rows: readonly Row[]; pages: RowPages | false } {
  const [all = [], table, prefix = ''] = positional as [readonly Row[] | undefined, string, string | undefined]
  if (!hasAddress(request) || divideRows(all).length <= 1) return { rows: all, pages: false }
  const parts = divideRows(all.filter(({ isHidden }) => !isHidden))
  const query = new URLSearchParams(request.query)
  const wanted = query.get('find') ?? ''
  const found = wanted === '' ? -1 : parts.findIndex(rows => rows.some(row => idsOf(row, prefix).includes(wanted)))
  const asked = Math.trunc(Number(query.get(table))) || 1
  const page = found === -1 ? Math.min(Math.max(asked, 1), parts.length) : found + 1
  query.delete('find')
  const linkTo = (page: number) => {
    query.set(table, String(page))
    return `${request.path}?${query}#${table}`
  }
  const rows = parts[page - 1] ?? []
  const before = parts.slice(0, page - 1).reduce((sum, { length }) => sum + length, 0)
  const numbers = rows.length === 0 ? '0' : `${before + 1}–${before + rows.length}`
  const pages = {
    table,
    range: `${numbers} of ${all.length}`,
    previousLink: page > 1 ? linkTo(page - 1) : '',
    nextLink: page < parts.length ? linkTo(page + 1) : '',
  }
  return { rows, pages }
}

/** Divides rows into pages that are within the limits; a page has at least one row. */
function divideRows(rows: readonly Row[]): Row[][] {
  const pages: Row[][] = []
  let size = 0
  for (const row of rows) {
    const length = JSON.stringify(row).length
    const page = pages.at(-1)
    if (page === undefined || page.length === rowLimit || size + length > sizeLimit) {
      pages.push([row])
      size = length
    } else {
      page.push(row)
      size += length
    }
  }
  return pages
}

function idsOf({ again = [], id = '', ids = [], index }: Row, prefix: string): string[] {
  const numbers = [...(index === undefined ? [] : [index]), ...ids, ...again]
  return [id, ...numbers.map(number => `${prefix}${number}`)]
}
