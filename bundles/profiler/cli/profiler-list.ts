import {
  type CommandArgument,
  type CommandInput,
  type CommandOption,
  CommandUsageError,
  type ConsoleCommand,
  exitCodes,
} from '../../../kernel/contracts/console-command.ts'
import { type Block, type Cell, type Column, withoutEmpty } from '../../../lib/console/document.ts'
import type { Output } from '../../../lib/console/output.ts'
import { suggestNames } from '../../../lib/text/mistakes.ts'
import { type PublicFinding, toPublicFinding } from '../export/json.ts'
import { addCalled } from '../insight/called.ts'
import { toBadge } from '../insight/findings/finding.ts'
import type { Inspector } from '../insight/findings/inspector.ts'
import {
  defaultLimit,
  type ListRequest,
  marks,
  methodHint,
  parseCountRange,
  parseListRequest,
  parseMethod,
  parseMilliseconds,
  parseMoment,
  parseStatus,
  profileTypes,
  rangeHint,
  sortableFields,
  statusHint,
} from '../insight/list-request.ts'
import { findLatest, mainRequests } from '../insight/relatives.ts'
import { createFilter, describeCount, searchList, searchProfiles } from '../insight/search-list.ts'
import { type Badge, toSummaryView, withBadge } from '../insight/summary-view.ts'
import { formatCount } from '../profile/format.ts'
import { isToken } from '../profile/json.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { nameOfUnit } from '../profile/units.ts'
import { type ProfileStorage, readLimit, type StoredProfile } from '../store/profile-storage.ts'
import type { ArmFile } from '../subjects/cpu/record.ts'
import type { ProfilerApplication } from '../web/page.ts'

/** Creates the command that lists profiles, and follows new ones. */
export function createProfilerList(storage: ProfileStorage, inspector: Inspector): ConsoleCommand {
  return {
    name: 'profiler:list',
    description: 'Lists recorded requests and sub-requests, the latest first',
    options: [
      ...filterOptions,
      ...pagingOptions,
      { name: 'findings', description: 'reads each profile, and shows the number of its findings' },
      { name: 'follow', description: 'also lists new profiles until Ctrl-C, the latest last' },
    ],
    examples: [
      { line: 'profiler:list', purpose: 'lists the latest ten profiles' },
      { line: 'profiler:list --only errors --sort duration', purpose: 'lists failed requests, the slowest first' },
      { line: 'profiler:list --url !/assets --follow', purpose: 'follows all requests except those for assets' },
      { line: 'profiler:list --queries 20.. --sort queryTime', purpose: 'lists requests with many database queries' },
      { line: 'profiler:list --findings', purpose: 'shows the number of findings' },
      { line: 'profiler:list --limit 1000 --json', purpose: 'writes the summaries for a program' },
    ],
    run: (input, output) =>
      input.options.follow === undefined ? list(storage, inspector, input, output) : follow(storage, input, output),
  }
}

async function list(storage: ProfileStorage, inspector: Inspector, input: CommandInput, output: Output): Promise<0> {
  const wanted = parseSearch(input)
  await storage.load()
  const { pinned, profiles, total } = await searchList(storage, wanted)
  const summaries = profiles.map(({ summary }) => summary)
  const inspected = input.options.findings === undefined ? undefined : await inspect(summaries, storage, inspector)
  const rows = summaries.map(summary =>
    toRow(summary, pinned.has(summary.token), toBadge(inspected?.get(summary.token) ?? [])),
  )
  const records = summaries.map(summary => ({
    ...summary,
    isPinned: pinned.has(summary.token),
    ...(inspected && { findings: inspected.get(summary.token) ?? [] }),
  }))
  const { found, inAll } = describeCount(rows.length, total)
  const table: Block = { kind: 'table', table: withoutEmpty({ columns, rows }, 'Queries') }
  output.print({
    blocks: [...(rows.length === 0 ? [] : [table]), { kind: 'text', text: `${found}${inAll && ` · ${inAll}`}` }],
    json: { total, records },
  })
  if (inAll !== '' && output.format === 'text') output.note('--page and --limit show the others.')
  if (total === 0) await noteMisfits(storage, input, output)
  return exitCodes.success
}

/** Names the options that fit no profile, each alone: a mistyped one looks like an empty list. */
export async function noteMisfits(storage: ProfileStorage, { options }: Pick<CommandInput, 'options'>, output: Output) {
  const { summaries } = await storage.search({ limit: readLimit })
  const misfits = filters.flatMap(({ name }) => {
    const text = options[name]
    if (text === undefined || summaries.some(parseSearch({ options: { [name]: text } }).matches)) return []
    const names = name === 'route' ? summaries.flatMap(({ route }) => route ?? []) : []
    return `--${name} "${text}"${suggestNames(text, new Set(names))}`
  })
  if (summaries.length > 0 && misfits.length > 0)
    output.note(`None of ${formatCount(summaries.length, 'profile')} fits ${misfits.join(', nor ')}.`)
}

/** Reads profiles one after another: there may be many. */
async function inspect(
  summaries: readonly ProfileSummary[],
  storage: ProfileStorage,
  inspector: Inspector,
): Promise<ReadonlyMap<string, readonly PublicFinding[]>> {
  const findings = new Map<string, readonly PublicFinding[]>()
  for (const { token } of summaries) {
    const found = await storage.find(token)
    if (found === undefined) continue
    const [profile] = await addCalled([found.profile], storage)
    findings.set(
      token,
      inspector.inspect(profile).map(finding => toPublicFinding(finding, token)),
    )
  }
  return findings
}

/** Lists the latest profiles in the order of their time, then new ones. */
async function follow(storage: ProfileStorage, input: CommandInput, output: Output): Promise<0> {
  const unfit = ['sort', 'order', 'page', 'pinned', 'findings'].find(name => input.options[name] !== undefined)
  if (unfit !== undefined) throw new CommandUsageError(`--follow and --${unfit} do not go together.`)
  const wanted = parseSearch(input)
  await storage.load()
  const isListed = createFilter(wanted)
  const first = (await searchProfiles(storage, wanted)).filter(isListed).slice(0, wanted.query.limit).toReversed()
  const rows = first.map(summary => toRow(summary))
  const add = output.open({ columns, rows }, first)
  const end = storage.tail(summary => {
    if (isListed(summary)) add(toRow(summary), summary)
  })
  await untilAborted(input.signal)
  end()
  return exitCodes.success
}

/** Waits until the command is aborted. A timer keeps the process running meanwhile: a watched directory does not. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const timer = setInterval(() => undefined, 60_000)
  await new Promise<unknown>(resolve => signal.addEventListener('abort', resolve, { once: true }))
  clearInterval(timer)
}

const columns: readonly Column[] = [
  { title: 'Status', align: 'right', cut: 'never' },
  { title: 'Method', cut: 'never' },
  { title: 'URL', least: 24 },
  { title: 'Route', isOptional: true },
  { title: 'Duration', align: 'right', cut: 'never' },
  { title: 'Queries', align: 'right', cut: 'never', isOptional: true },
  { title: 'Token', cut: 'never' },
  { title: 'Notes', isOptional: true },
  { title: 'Time', cut: 'never', isOptional: true },
  { title: 'IP', cut: 'never', isOptional: true },
]

function toRow(summary: ProfileSummary, isPinned = false, badge?: Badge): Cell[] {
  const { badges, duration, ip, method, queries, queryTime, route, status, target, time, token, tone } = withBadge(
    toSummaryView(summary),
    badge,
  )
  const notes = [...(isPinned ? ['pinned'] : []), ...badges.map(({ text }) => text)].join(', ')
  return [
    { text: status, tone },
    method,
    summary.parent !== null ? `└ ${target}` : target,
    route,
    duration,
    queries === '' ? '' : `${queries} in ${queryTime}`,
    { text: token, tone: 'strong' },
    { text: notes, tone: badges.some(({ tone }) => tone === 'error') ? 'error' : 'muted' },
    { text: `${time.iso.slice(0, 10)} ${time.clock}`, tone: 'muted' },
    { text: ip, tone: 'muted' },
  ]
}

/** A console is no client of the server, and reads no findings for a filter. */
const consoleMarks = marks.filter(mark => mark !== 'client' && mark !== 'findings')

/** The filters of the list. A parameter on the web that has another name is named. */
const filters: readonly (CommandOption & { readonly parameter?: string })[] = [
  { name: 'program', value: 'text', description: 'the name of the program, with several' },
  { name: 'machine', value: 'text', description: 'the name of the machine, with several' },
  { name: 'ip', value: 'text', description: 'a part of the address of the client' },
  { name: 'method', value: 'name', description: 'a part of the method, in any case' },
  {
    name: 'status',
    parameter: 'status_code',
    value: 'code',
    description: 'a part of the status, such as 404 or 40; also 4xx or 500..599',
  },
  { name: 'url', value: 'text', description: 'a part of the URL; !text for those without it' },
  {
    name: 'text',
    value: 'text',
    description: 'a part of the URL, the operation, the route or the controller, in any case',
  },
  { name: 'only', value: 'marks', description: `all of these, separated by commas: ${consoleMarks.join(', ')}` },
  { name: 'token', value: 'text', description: 'a part of the token' },
  { name: 'route', value: 'text', description: 'a part of the name of the route' },
  { name: 'operation', value: 'text', description: 'a part of the operation, such as "query Books" of GraphQL' },
  { name: 'queries', value: 'range', description: 'the number of database queries, such as 10.. or 5..20' },
  { name: 'slower', value: 'ms', description: 'the least duration, such as 250 or 1.5s' },
  { name: 'content', value: 'type', description: 'a part of the content type of the response, such as json' },
  { name: 'exception', value: 'name', description: 'a part of the class of the exception; * for any' },
  { name: 'error', value: 'text', description: 'a part of the fingerprint of the error' },
  {
    name: 'type',
    value: 'name',
    description: `${profileTypes.join(', ')}: by default all but probes, which are of a browser itself`,
  },
  {
    name: 'from',
    parameter: 'start',
    value: 'time',
    description: 'a date such as 2026-11-20 or 2026-11-20T14:30, UTC',
  },
  { name: 'until', parameter: 'end', value: 'time', description: 'a date, which counts as a whole' },
  { name: 'pinned', description: 'only pinned profiles' },
]

const paging: typeof filters = [
  { name: 'sort', value: 'field', choices: sortableFields, description: 'what to sort by' },
  { name: 'order', value: 'way', choices: ['asc', 'desc'], description: 'by default desc' },
  { name: 'limit', value: 'number', description: `the number of profiles; by default ${defaultLimit}` },
  { name: 'page', value: 'number', description: 'the page, by that number of profiles' },
]

/** Options that filter profiles. */
export const filterOptions: readonly CommandOption[] = filters

/** Options for the order and the page of a list. */
export const pagingOptions: readonly CommandOption[] = paging

/** Reads the options as the web reads its parameters; a mistake ends the command. @throws CommandUsageError */
export function parseSearch({ options }: Pick<CommandInput, 'options'>): ListRequest {
  const given = filters.concat(paging).flatMap(({ name, parameter = name, value }): [string, string][] => {
    const text = options[name]
    return text === undefined ? [] : [[parameter, value === undefined ? '1' : text]]
  })
  const moment = 'a date such as 2026-11-20, or seconds since 1970'
  for (const name of ['from', 'until']) check(name, options[name], text => parseMoment(text, 'first'), moment)
  const [from, until] = [parseMoment(options.from ?? '', 'first'), parseMoment(options.until ?? '', 'last')]
  if (from !== undefined && until !== undefined && from > until)
    throw new CommandUsageError(`--from must be before --until, not "${options.from}" and "${options.until}".`)
  check('type', options.type, text => profileTypes.find(type => type === text), `one of ${profileTypes.join(', ')}`)
  check('method', options.method, parseMethod, methodHint)
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

/** The word that names the latest main request. */
export const latest = 'latest'

/**
 * Finds the profile of a token, or the latest, by default of all programs; `undefined` when it is not stored.
 *
 * @throws CommandUsageError
 */
export async function findByWord(
  storage: Pick<ProfileStorage, 'find' | 'search'>,
  word: string,
  program?: string,
): Promise<StoredProfile | undefined> {
  if (word === latest) {
    const newest = await findLatest(storage, program)
    return newest && storage.find(newest.token)
  }
  if (isToken(word)) return storage.find(word)
  throw new CommandUsageError(`"${word}" is no token: a token is six hexadecimal digits, or "${latest}".`)
}

/**
 * Finds the profile that an argument of a command names. Prints an error if there is none. @throws CommandUsageError
 */
export async function findNamed(storage: ProfileStorage, word: string, output: Output) {
  const found = await findByWord(storage, word)
  if (found === undefined) output.error(missing(word))
  return found
}

/** Prints why a command has failed. Gives its exit code. */
export function fail(output: Output, reason: string) {
  output.error(reason)
  return exitCodes.failure
}

/** Says that there is no such profile. */
export function missing(word: string): string {
  return word === latest
    ? 'No requests recorded yet. Open a page of the application first.'
    : `There is no profile "${word}": it has expired, was deleted, or never existed.`
}

/** Describes the argument that names a profile. */
export function tokenArgument(
  storage: Pick<ProfileStorage, 'search'>,
  changes: Partial<CommandArgument> = {},
): CommandArgument {
  return {
    name: 'token',
    description: `the token of a profile, or ${latest}`,
    async suggest() {
      const { summaries } = await storage.search({ filters: [mainRequests], limit: 20 })
      const tokens = summaries.map(each => [each.token, `${toSummaryView(each).status} ${nameOfUnit(each)}`] as const)
      return [[latest, 'the latest request'], ...tokens]
    },
    ...changes,
  }
}

/** The services of the commands. */
export type CommandServices = Omit<ProfilerApplication, 'inspector'> & {
  /** The order for the servers of the application to sample a request. */
  readonly armFile: ArmFile
  readonly inspector: Inspector
  /** Boots the application for requests; most commands do not need that. */
  readonly boot: () => Promise<void>
}
