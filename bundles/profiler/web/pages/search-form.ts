import { type ListRequest, searchParameters } from '../../insight/list-request.ts'
import type { ProfileSummary } from '../../profile/profile.ts'

/** One of the choices of a `<select>`. */
export interface Choice {
  readonly value: string
  readonly label: string
  readonly isSelected: boolean
}

/** The content of the search form. The texts of its fields are in `values`, by their names. */
interface SearchForm {
  readonly values: Readonly<Record<string, string>>
  readonly methods: readonly Choice[]
  readonly types: readonly Choice[]
  readonly contents: readonly Choice[]
  /** Empty with one machine. */
  readonly machines: readonly Choice[]
  /** Suggestions for a field that takes a part of the name. */
  readonly routes: readonly string[]
  readonly route: string
  readonly start: string
  readonly end: string
  readonly isPinned: boolean
  readonly limits: readonly Choice[]
  /** Hidden fields that keep the order and the marks of the list. */
  readonly kept: readonly { readonly name: string; readonly value: string }[]
  /** Whether one of the folded fields is used. */
  readonly isOpen: boolean
  /** Whether the list is restricted. */
  readonly isFiltering: boolean
}

const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
const limits = ['10', '25', '50', '100']
const keptNames: readonly string[] = ['only', 'sort', 'order']

/** Fields that are always visible, or have no effect on the number of results. */
const unfolded: readonly string[] = [...keptNames, 'text', 'page', 'limit']

const types = [
  ['request', 'All requests'],
  ['sub-request', 'Sub-requests'],
  ['probe', 'Probes of browsers'],
] as const

/** A longer list would make the page heavy. */
const suggestionLimit = 100

/** Creates the search form with the current filters. Its choices are those of the requests in the store. */
export function createSearchForm(
  { isFiltering, isPinned, marks, parameters, query }: ListRequest,
  mains: readonly ProfileSummary[] = [],
): SearchForm {
  const { content = '', machine = '', method = '', route = '', type = 'request' } = parameters
  const boundOf = (wanted: 'from' | 'until') => {
    const bound = query.filters.find(({ field, test }) => field === 'time' && test === wanted)
    return bound === undefined ? '' : toInputValue(Number(bound.value))
  }
  const contents = listMostFrequent(mains.map(({ contentType }) => contentType?.split(';')[0] ?? null))
  const machines = listMostFrequent(mains.map(({ machine }) => machine)).toSorted()
  const hasMachines = machines.length > 1 || machine !== ''
  return {
    values: Object.fromEntries(searchParameters.map(name => [name, parameters[name] ?? ''])),
    methods: [choose('', 'Any', method), ...choices(methods, method.toUpperCase())],
    types: types.map(([value, label]) => choose(value, label, type)),
    contents: [choose('', 'Any', content), ...choices(contents.toSorted(), content)],
    machines: hasMachines ? [choose('', 'Any', machine), ...choices(machines, machine)] : [],
    routes: listMostFrequent(mains.map(({ route }) => route)).toSorted(),
    route,
    start: boundOf('from'),
    end: boundOf('until'),
    isPinned,
    limits: choices(limits, String(query.limit)),
    kept: keptNames.flatMap(name => (parameters[name] === undefined ? [] : { name, value: parameters[name] })),
    isOpen: Object.entries(parameters).some(([name, value]) => !unfolded.includes(name) && value !== 'request'),
    isFiltering: isFiltering || isPinned || marks.length > 0 || type !== 'request',
  }
}

function listMostFrequent(values: readonly (string | null)[]): string[] {
  const counts = new Map<string, number>()
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1)
  const sorted = [...counts].sort(([, one], [, other]) => other - one)
  return sorted.slice(0, suggestionLimit).map(([value]) => value)
}

/** A value from a link stays selected, even if it is not one of the usual choices. */
function choices(usual: readonly string[], chosen: string): Choice[] {
  const all = chosen === '' || usual.includes(chosen) ? usual : [...usual, chosen]
  return all.map(value => choose(value, value, chosen))
}

function choose(value: string, label: string, chosen: string): Choice {
  return { value, label, isSelected: value === chosen }
}

/** The format of `datetime-local`, without seconds if they are 0; a bound ends with the last millisecond of a minute. */
function toInputValue(time: number): string {
  const iso = new Date(time).toISOString()
  // The field supports years of four digits only.
  if (!/^\d{4}-/.test(iso)) return ''
  return /:(?:00\.000|59\.999)Z$/.test(iso) ? iso.slice(0, 16) : iso.slice(0, 19)
}
