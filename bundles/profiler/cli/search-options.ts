import { type CommandInput, type CommandOption, CommandUsageError } from '../../../kernel/console-command.ts'
import {
  defaultLimit,
  type ListRequest,
  marks,
  parseListRequest,
  parseMilliseconds,
  profileTypes,
  sortableFields,
} from '../insight/list-request.ts'
import { parseCountRange, parseMoment, parseStatus, rangeHint, statusHint } from '../insight/search-values.ts'

/** A console is no client of the server, and reads no findings for a filter. */
const consoleMarks = marks.filter(mark => mark !== 'client' && mark !== 'findings')

/** The filters of the list, with the names of their parameters on the web. */
const filters: readonly (CommandOption & { readonly parameter: string })[] = [
  {
    name: 'machine',
    parameter: 'machine',
    value: 'text',
    description: 'the name of the machine, with several',
  },
  { name: 'ip', parameter: 'ip', value: 'text', description: 'a part of the address of the client' },
  { name: 'method', parameter: 'method', value: 'name', description: 'a part of the method, in any case' },
  {
    name: 'status',
    parameter: 'status_code',
    value: 'code',
    description: 'a part of the status, such as 404 or 40; also 4xx or 500..599',
  },
  { name: 'url', parameter: 'url', value: 'text', description: 'a part of the URL; !text for those without it' },
  {
    name: 'text',
    parameter: 'text',
    value: 'text',
    description: 'a part of the URL, the route or the controller, in any case',
  },
  {
    name: 'only',
    parameter: 'only',
    value: 'marks',
    description: `all of these, separated by commas: ${consoleMarks.join(', ')}`,
  },
  { name: 'token', parameter: 'token', value: 'text', description: 'a part of the token' },
  { name: 'route', parameter: 'route', value: 'text', description: 'a part of the name of the route' },
  {
    name: 'queries',
    parameter: 'queries',
    value: 'range',
    description: 'the number of database queries, such as 10.. or 5..20',
  },
  { name: 'slower', parameter: 'slower', value: 'ms', description: 'the least duration, such as 250 or 1.5s' },
  {
    name: 'content',
    parameter: 'content',
    value: 'type',
    description: 'a part of the content type of the response, such as json',
  },
  {
    name: 'exception',
    parameter: 'exception',
    value: 'name',
    description: 'a part of the class of the exception; * for any',
  },
  { name: 'error', parameter: 'error', value: 'text', description: 'a part of the fingerprint of the error' },
  {
    name: 'type',
    parameter: 'type',
    value: 'name',
    description: `${profileTypes.join(', ')}: by default requests with their sub-requests; a probe is of a browser itself`,
  },
  {
    name: 'from',
    parameter: 'start',
    value: 'time',
    description: 'a date such as 2026-11-20 or 2026-11-20T14:30, UTC',
  },
  { name: 'until', parameter: 'end', value: 'time', description: 'a date, which counts as a whole' },
  { name: 'pinned', parameter: 'pinned', description: 'only pinned profiles' },
]

const paging: typeof filters = [
  { name: 'sort', parameter: 'sort', value: 'field', choices: sortableFields, description: 'what to sort by' },
  { name: 'order', parameter: 'order', value: 'way', choices: ['asc', 'desc'], description: 'by default desc' },
  {
    name: 'limit',
    parameter: 'limit',
    value: 'number',
    description: `the number of profiles; by default ${defaultLimit}`,
  },
  { name: 'page', parameter: 'page', value: 'number', description: 'the page, by that number of profiles' },
]

/** Options that filter profiles. */
export const filterOptions: readonly CommandOption[] = filters

/** Options for the order and the page of a list. */
export const pagingOptions: readonly CommandOption[] = paging

/** Reads the options as the web reads its parameters; a mistake ends the command. @throws CommandUsageError */
export function parseSearch({ options }: Pick<CommandInput, 'options'>): ListRequest {
  const given = filters.concat(paging).flatMap(({ name, parameter, value }): [string, string][] => {
    const text = options[name]
    return text === undefined ? [] : [[parameter, value === undefined ? '1' : text]]
  })
  const moment = 'a date such as 2026-11-20, or seconds since 1970'
  for (const name of ['from', 'until']) check(name, options[name], text => parseMoment(text, 'first'), moment)
  check('queries', options.queries, parseCountRange, rangeHint)
  check('status', options.status, parseStatus, statusHint)
  check('slower', options.slower, parseMilliseconds, 'milliseconds such as 250')
  for (const mark of options.only?.split(',') ?? [])
    check('only', mark, mark => consoleMarks.find(known => known === mark), `one of ${consoleMarks.join(', ')}`)
  const limit = readCount('limit', options.limit, defaultLimit)
  const page = readCount('page', options.page, 1)
  const wanted = parseListRequest(new URLSearchParams(given))
  // Without a page to render there is no upper limit.
  return { ...wanted, page, query: { ...wanted.query, limit, offset: (page - 1) * limit } }
}

function check(name: string, text: string | undefined, parse: (text: string) => unknown, expected: string): void {
  if (text === undefined || parse(text) !== undefined) return
  throw new CommandUsageError(`--${name} must be ${expected}, not "${text}".`)
}

function readCount(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new CommandUsageError(`--${name} must be a number from 1, not "${text}".`)
}
