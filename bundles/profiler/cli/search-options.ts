import { type CommandInput, type CommandOption, CommandUsageError } from '../../../kernel/console-command.ts'
import {
  type ListRequest,
  parseCountRange,
  parseListRequest,
  parseMoment,
  sortableFields,
} from '../insight/list-request.ts'

/** The filters of the list, with the names of their parameters on the web. */
const filters: readonly (CommandOption & { readonly parameter: string })[] = [
  { name: 'ip', parameter: 'ip', value: 'text', description: 'a part of the address of the client' },
  { name: 'method', parameter: 'method', value: 'name', description: 'a part of the method, in any case' },
  { name: 'status', parameter: 'status_code', value: 'code', description: 'a part of the status, such as 404 or 50' },
  { name: 'url', parameter: 'url', value: 'text', description: 'a part of the URL; !text for those without it' },
  { name: 'token', parameter: 'token', value: 'text', description: 'a part of the token' },
  { name: 'route', parameter: 'route', value: 'text', description: 'a part of the name of the route' },
  {
    name: 'queries',
    parameter: 'queries',
    value: 'range',
    description: 'the number of database queries, such as 10.. or 5..20',
  },
  { name: 'error', parameter: 'error', value: 'text', description: 'a part of the fingerprint of the error' },
  { name: 'type', parameter: 'type', value: 'name', description: 'the type: there are only requests' },
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
  { name: 'limit', parameter: 'limit', value: 'number', description: 'the number of profiles; by default 10' },
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
  checkMoment('from', options.from)
  checkMoment('until', options.until)
  if (options.queries !== undefined && parseCountRange(options.queries) === undefined)
    throw new CommandUsageError(
      `--queries must be a number such as 10, or a range such as 10.. or 5..20, not "${options.queries}".`,
    )
  const limit = readCount('limit', options.limit, 10)
  const page = readCount('page', options.page, 1)
  const wanted = parseListRequest(new URLSearchParams(given))
  // Without a page to render there is no upper limit.
  return { ...wanted, page, query: { ...wanted.query, limit, offset: (page - 1) * limit } }
}

function checkMoment(name: string, text: string | undefined): void {
  if (text === undefined || parseMoment(text, 'first') !== undefined) return
  throw new CommandUsageError(`--${name} must be a date such as 2026-11-20, or seconds since 1970, not "${text}".`)
}

function readCount(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new CommandUsageError(`--${name} must be a number from 1, not "${text}".`)
}
