import {
  type CommandInput,
  CommandUsageError,
  type ConsoleCommand,
  exitCodes,
} from '../../../kernel/console-command.ts'
import { type Block, type Cell, type Column, withoutEmpty } from '../../../lib/console/document.ts'
import type { Output } from '../../../lib/console/output.ts'
import { type PublicFinding, toPublicFinding } from '../export/json.ts'
import { toBadge } from '../insight/findings/finding.ts'
import type { Inspector } from '../insight/findings/inspector.ts'
import { isBrowserProbe } from '../insight/latest.ts'
import { hasMark } from '../insight/list-marks.ts'
import type { ListRequest } from '../insight/list-request.ts'
import { describeCount, searchList, searchProfiles } from '../insight/search-list.ts'
import { type Badge, toSummaryView, withBadge } from '../insight/summary-view.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { filterOptions, pagingOptions, parseSearch } from './search-options.ts'

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
    toRow(summary, { isPinned: pinned.has(summary.token), badge: toBadge(inspected?.get(summary.token) ?? []) }),
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
  return exitCodes.success
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
    findings.set(
      token,
      inspector.inspect(found.profile).map(finding => toPublicFinding(finding, token)),
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

/** Only statistics know what is slow: `--only slow` follows all main requests. */
function createFilter({ isOfProbes, marks, matches }: ListRequest): (summary: ProfileSummary) => boolean {
  const context = { client: undefined, isSlow: Boolean, findings: new Set<string>() }
  return summary =>
    isBrowserProbe(summary) === isOfProbes && matches(summary) && marks.every(mark => hasMark(mark, summary, context))
}

/** A watched directory does not keep the process running; a timer does. */
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

interface RowInit {
  readonly isPinned?: boolean
  readonly badge?: Badge | undefined
}

function toRow(summary: ProfileSummary, { badge, isPinned = false }: RowInit = {}): Cell[] {
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
