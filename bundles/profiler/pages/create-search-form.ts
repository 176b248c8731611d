import type { ListRequest } from './parse-list-request.ts'

/** One of the choices of a `<select>`. */
export interface Choice {
  readonly value: string
  readonly label: string
  readonly isSelected: boolean
}

/** What the fields of the search form contain. */
export interface SearchForm {
  readonly ip: string
  readonly methods: readonly Choice[]
  readonly status: string
  readonly address: string
  readonly start: string
  readonly end: string
  readonly route: string
  readonly token: string
  readonly isPinned: boolean
  readonly limits: readonly Choice[]
  /** What the list is sorted by, to stay so. */
  readonly kept: readonly { readonly name: string; readonly value: string }[]
  /** Whether one of the fields is used that are out of the way otherwise. */
  readonly isOpen: boolean
  /** Whether anything is filtered at all. */
  readonly isFiltering: boolean
}

const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
const limits = ['10', '25', '50', '100']

/** Fills the search form with what was asked for. */
export function createSearchForm({ isPinned, parameters, query }: ListRequest): SearchForm {
  const { ip = '', method = '', route = '', status_code: status = '', token = '', url: address = '' } = parameters
  const boundOf = (wanted: 'from' | 'until') => {
    const bound = query.filters.find(({ test }) => test === wanted)
    return bound === undefined ? '' : toInputValue(Number(bound.value))
  }
  const start = boundOf('from')
  const end = boundOf('until')
  return {
    ip,
    methods: [choose('', 'Any', method), ...choices(methods, method.toUpperCase())],
    status,
    address,
    start,
    end,
    route,
    token,
    isPinned,
    limits: choices(limits, String(query.limit)),
    kept: Object.entries(parameters)
      .filter(([name]) => name === 'sort' || name === 'order')
      .map(([name, value]) => ({ name, value })),
    isOpen: isPinned || [ip, route, token, start, end].some(text => text !== ''),
    isFiltering: isPinned || query.filters.length > 0,
  }
}

/** What is chosen stays, also when it came by a link and is none of the usual choices. */
function choices(usual: readonly string[], chosen: string): Choice[] {
  const all = chosen === '' || usual.includes(chosen) ? usual : [...usual, chosen]
  return all.map(value => choose(value, value, chosen))
}

function choose(value: string, label: string, chosen: string): Choice {
  return { value, label, isSelected: value === chosen }
}

/** As `datetime-local` wants it, to the minute where that says the same: a minute ends with its last millisecond. */
function toInputValue(time: number): string {
  const iso = new Date(time).toISOString()
  // The field knows four digits of a year.
  if (!/^\d{4}-/.test(iso)) return ''
  return /:(?:00\.000|59\.999)Z$/.test(iso) ? iso.slice(0, 16) : iso.slice(0, 19)
}
