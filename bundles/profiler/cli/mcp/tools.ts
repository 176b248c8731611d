import type { z } from 'zod/v4'
import { type CommandOption, CommandUsageError } from '../../../../kernel/contracts/console-command.ts'
import { type Document, formatMarkdown } from '../../../../lib/console/document.ts'
import { toVisibleJson } from '../../../../lib/text/escapes.ts'
import { writeFinding } from '../../export/conclusions.ts'
import { toJson } from '../../export/json.ts'
import { listToJson, listToMarkdown } from '../../export/lists.ts'
import { toMarkdown } from '../../export/markdown.ts'
import { toList, toSpan } from '../../export/markdown-text.ts'
import { addCalled } from '../../insight/called.ts'
import type { Finding } from '../../insight/findings/finding.ts'
import type { Inspector } from '../../insight/findings/inspector.ts'
import { type ListRequest, parseCountRange, parseMoment, rangeHint } from '../../insight/list-request.ts'
import { findPredecessors, type ShownProfile, showProfile } from '../../insight/relatives.ts'
import { createRepeating, planReplay, type Replayer } from '../../insight/replay/replay.ts'
import { describeStatistics, gatherStatistics, type RouteStatistics } from '../../insight/routes.ts'
import { searchList, searchMains, searchProfiles } from '../../insight/search-list.ts'
import { isError, nameOfWork } from '../../insight/summary-view.ts'
import type { Inspected, SubjectView } from '../../panels/subject-view.ts'
import { formatCount } from '../../profile/format.ts'
import { isToken } from '../../profile/json.ts'
import type { DataForm } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { nameOfUnit } from '../../profile/units.ts'
import type { Profiler } from '../../record/profiler.ts'
import { type ProfileStorage, readLimit, type StoredProfile } from '../../store/profile-storage.ts'
import { hasContent } from '../../web/pages/render-panel.ts'
import { filterOptions, findByWord, latest, missing, pagingOptions, parseSearch } from '../profiler-list.ts'
import { compareStored, verifyRequest } from '../replay-commands.ts'

/** The services that the tools use. */
export interface ToolServices {
  readonly storage: ProfileStorage
  readonly profiler: Pick<Profiler, 'whenStored'>
  readonly inspector: Inspector
  /** In the order of the menu. */
  readonly panels: readonly SubjectView[]
  /** Replays requests; without it there is no tool for that. */
  readonly replayer?: Pick<Replayer, 'replay'> | undefined
  /** The program whose profiles are searched if a tool gets none; without it those of all. */
  readonly program?: (() => string) | undefined
}

/** The texts of an answer. */
export type ToolAnswer = Promise<readonly string[]>

/** An error whose message is for the agent: it names what the agent can request instead. */
export class ToolError extends Error {}

/** How a tool is described to agents and to the people who allow it. */
interface ToolDefinition<Input extends z.ZodRawShape> {
  /** The title of the tool, which people see. */
  readonly title: string
  /** The description of the tool, which the agent reads. */
  readonly description: string
  readonly input: Input
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
}

/** Adds one tool. @throws ToolError by its answer */
type AddTool = <Input extends z.ZodRawShape>(
  name: string,
  definition: ToolDefinition<Input>,
  answer: (values: z.output<z.ZodObject<Input>>) => ToolAnswer,
) => void

/** Finds a profile by its token, or the latest. @throws ToolError */
async function findStored(word: string, { profiler, program, storage }: ToolServices): Promise<StoredProfile> {
  // An agent may have the token of a response whose profile is not written yet.
  if (isToken(word)) await profiler.whenStored(word)
  const found = await findByWord(storage, word, program?.())
  if (found === undefined) throw new ToolError(`${missing(word)} find_profiles lists what is stored.`)
  return found
}

/** Finds a profile with its relatives and its findings. @throws ToolError */
async function findShown(word: string, services: ToolServices): Promise<ShownProfile> {
  return showProfile(await findStored(word, services), services.storage, services.inspector)
}

/** The names of the panels that have content. */
function panelsOf(shown: Inspected, panels: readonly SubjectView[]): string {
  const filled = panels.filter(panel => hasContent(panel, shown))
  return filled.map(({ name }) => name).join(', ')
}

const readsOnly = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

/** Adds the tools, in the order in which agents see them. */
export function addTools(z: Zod, services: ToolServices, add: AddTool): void {
  const { inspector, panels, replayer, storage } = services
  const { answer, filters, paging, token } = createInputs(z)

  add(
    'last_exception',
    {
      title: 'Read the last exception',
      description:
        'Reads the latest request that failed: the exception, its causes, the frames of the application and the source around them. Begin here when something is broken.',
      input: {
        status: z
          .union([z.string(), z.number()])
          .optional()
          .describe('such as 404, 4xx or 500..599; by default 500 and above, or no response'),
        url: z.string().optional().describe('a part of the URL'),
        route: z.string().optional().describe('a part of the name of the route'),
        ...answer,
      },
      annotations: readsOnly,
    },
    async ({ route, status, url, ...options }) => {
      const wanted = readSearch({ route, status, url }, services)
      const summaries = await searchProfiles(storage, wanted)
      const found = summaries.find(status === undefined ? isFailure : hasThrown)
      if (found === undefined) return [explainNoFailure(summaries.find(hasThrown))]
      const shown = await findShown(found.token, services)
      return writeAnswer(formsOf(shown, 'exception'), options, `Panels for read_panel: ${panelsOf(shown, panels)}.`)
    },
  )

  add(
    'find_profiles',
    {
      title: 'Find recorded requests',
      description:
        'Lists recorded requests and sub-requests that match all filters, the latest first: status, method, URL, times, queries, exception, and the token by which other tools find the profile. A sub-request follows its main request.',
      input: { ...filters, ...paging, ...answer },
      annotations: readsOnly,
    },
    async values => {
      const wanted = readSearch(values, services)
      const list = listToJson(await searchList(storage, wanted), wanted)
      // An agent asks for the next page by its number, and cannot use a link.
      const links = { ...list.links, next: null }
      const remarks = list.links.next === null ? [] : [`There are more: ask for page ${list.page + 1}.`]
      return writeAnswer({ json: () => list, md: () => listToMarkdown({ ...list, links }) }, values, ...remarks)
    },
  )

  add(
    'read_profile',
    {
      title: 'Read a profile',
      description:
        'Reads everything that was recorded of one request. The first line says where the time went, and what is wrong; then exceptions, request and response, queries, logs, console, browser, events, templates, calls. Long; read_panel reads one part.',
      input: { token, ...answer },
      annotations: readsOnly,
    },
    async ({ token, ...options }) => {
      const shown = await findShown(token, services)
      return writeAnswer(formsOf(shown), options, `Panels for read_panel: ${panelsOf(shown, panels)}.`)
    },
  )

  const names = panels.map(({ name }) => name)
  add(
    'read_panel',
    {
      title: 'Read a panel of a profile',
      description:
        'Reads one part of a profile, in more detail than read_profile: the exception with its source, the log messages, the tree of events and listeners, and so on.',
      input: { token, panel: z.string().describe(`${names.join(', ')}, or the name of a collector`), ...answer },
      annotations: readsOnly,
    },
    async ({ panel, token, ...options }) => {
      const shown = await findShown(token, services)
      if (!names.includes(panel) && !Object.hasOwn(shown.profile.data, panel)) {
        const known = panelsOf(shown, panels)
        throw new ToolError(`The profile has no panel ${JSON.stringify(panel)}; it has ${known}.`)
      }
      return writeAnswer(formsOf(shown, panel), options)
    },
  )

  add(
    'compare_profiles',
    {
      title: 'Compare two profiles',
      description:
        'Lists the differences of two recorded requests: times, status, headers, parameters, listeners, queries by statement, logs. Equal parts are left out.',
      input: {
        token,
        with: token
          .optional()
          .describe(
            'the token of the profile to compare with; by default the previous profile of the same URL, else of the same path, else of the same route',
          ),
        ...answer,
      },
      annotations: readsOnly,
    },
    async ({ token, with: other, ...options }) => {
      const { profile } = await findStored(token, services)
      const { summaries } = await storage.search({ limit: readLimit })
      const before = other ?? findPredecessors(summaries, profile.summary).previous?.token
      if (before === undefined) throw new ToolError(`There is no earlier profile of the same request as "${token}".`)
      const { profile: first } = await findStored(before, services)
      return writeAnswer(formsOfDocument(await compareStored(services, first, profile)), options)
    },
  )

  add(
    'route_statistics',
    {
      title: 'Statistics by route',
      description:
        'Gives for each route the number of requests, percentiles of the duration, the queries of a request (median and most), the errors, and the token of the slowest request. Only main requests that match all filters.',
      input: {
        ...filters,
        sort: z
          .enum(['count', 'p50', 'p95', 'p99', 'queries', 'mostQueries', 'errors'])
          .describe('the greatest first')
          .default('count'),
        limit: wholeNumber(z, 100).describe('the number of routes').default(25),
        ...answer,
      },
      annotations: readsOnly,
    },
    async ({ format, limit, max_length, sort, ...filters }) => {
      const wanted = readSearch(filters, services)
      const { found: main } = await searchMains(storage, wanted)
      const routes = gatherStatistics(main).sort((one, other) => other[sort] - one[sort])
      const title = `# ${formatCount(main.length, 'request')} of ${formatCount(routes.length, 'route')}`
      const forms = {
        json: () => ({ requests: main.length, total: routes.length, routes: routes.slice(0, limit) }),
        md: () => `${[title, toList(routes, limit, writeRoute)].filter(part => part !== '').join('\n\n')}\n`,
      }
      return writeAnswer(forms, { format, max_length })
    },
  )

  add(
    'find_findings',
    {
      title: 'Find what could be better',
      description:
        'Checks the latest requests and sub-requests that match all filters by all rules (N+1 and slow queries, repeated HTTP client calls, slow listeners, insecure cookies and more) and lists the findings by rule, with advice.',
      input: { ...filters, ...paging, ...answer },
      annotations: readsOnly,
    },
    async values => {
      const wanted = readSearch(values, services)
      const { profiles } = await searchList(storage, wanted)
      const summaries = profiles.map(({ summary }) => summary)
      const rules = await inspectAll(summaries, { inspector, storage })
      const json = () => ({ requests: summaries.length, rules })
      return writeAnswer({ json, md: () => writeRules(summaries.length, rules) }, values)
    },
  )

  if (replayer !== undefined) addReplayTools(z, { ...services, replayer }, add)
}

function hasThrown({ exception }: ProfileSummary): boolean {
  return exception !== null
}

/** An error that the client caused is no failure. */
function isFailure(summary: ProfileSummary): boolean {
  return hasThrown(summary) && (summary.status === 0 || isError(summary))
}

function explainNoFailure(other: ProfileSummary | undefined): string {
  if (other === undefined) return 'No such exception is stored.'
  return `No such failure is stored; the latest exception was answered with ${other.status}: ask with status "${other.status}".`
}

function writeRoute(statistics: RouteStatistics): string {
  const { errorRate, percentiles, queryCounts, requests, slowest } = describeStatistics(statistics)
  const { errors, worst } = statistics
  const name = nameOfWork(statistics)
  const facts = [
    `${name === '' ? 'no route' : toSpan(name)}: ${requests}`,
    percentiles,
    queryCounts,
    errors === 0 ? '' : `${formatCount(errors, 'error')} (${errorRate})`,
    `slowest ${slowest} ${toSpan(worst.token)}`,
  ]
  return facts.filter(fact => fact !== '').join('; ')
}

/** The findings of one rule. */
interface RuleReport {
  readonly rule: string
  readonly title: string
  readonly examples: { readonly token: string; readonly request: string; readonly finding: Finding }[]
}

async function inspectAll(
  summaries: readonly ProfileSummary[],
  { inspector, storage }: Pick<ToolServices, 'inspector' | 'storage'>,
): Promise<RuleReport[]> {
  const reports = new Map<string, RuleReport>()
  for (const summary of summaries) {
    const stored = await storage.find(summary.token)
    const [profile] = stored === undefined ? [] : await addCalled([stored.profile], storage)
    for (const finding of profile === undefined ? [] : inspector.inspect(profile)) {
      const { rule, title } = finding
      const report = reports.get(rule) ?? { rule, title, examples: [] }
      reports.set(rule, report)
      report.examples.push({ token: summary.token, request: nameOfUnit(summary), finding })
    }
  }
  return [...reports.values()]
}

/** More examples of a rule add nothing new. */
const exampleLimit = 5

function writeRules(requests: number, rules: readonly RuleReport[]): string {
  const parts = rules.flatMap(({ examples, rule, title }) => [
    `## ${toSpan(rule)}: ${toSpan(title)}`,
    toList(
      examples,
      exampleLimit,
      ({ finding, request, token }) => `${toSpan(token)} ${toSpan(request)}: ${writeFinding(finding, token)}`,
    ),
  ])
  const heading = `# ${rules.length === 0 ? 'No findings' : formatCount(rules.length, 'rule')} in ${formatCount(requests, 'request')}`
  return `${[heading, ...parts].join('\n\n')}\n`
}

interface ReplayToolServices extends ToolServices {
  readonly replayer: Pick<Replayer, 'replay'>
}

const sends = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }

const limits = 'GET, HEAD, OPTIONS and QUERY only; cookies and credentials are not sent.'

function addReplayTools(z: Zod, services: ReplayToolServices, add: AddTool): void {
  const { inspector } = services
  const { answer, token } = createInputs(z)
  add(
    'replay_request',
    {
      title: 'Replay a request',
      description: `Makes a recorded request again with the code as it is now, and lists what has changed. ${limits} Use it to check whether a change repairs what failed.`,
      input: { token, ...answer },
      annotations: sends,
    },
    async ({ token, ...options }) => {
      const { original, repeating } = await prepare(token, services)
      const [replay] = await repeating.complete([orThrow(await repeating.repeat()).profile])
      const compared = await compareStored(services, original, replay)
      return writeAnswer(formsOfDocument(compared), options)
    },
  )

  add(
    'verify_request',
    {
      title: 'Verify a fix',
      description: `Makes a recorded request again with the code as it is now, and says of its exception and of each finding whether it is fixed or still there, or that the page now fails. Times are measured three times. ${limits} Use it after a fix.`,
      input: {
        token,
        finding: z.string().optional().describe('only this rule, such as repeated-queries, or exception'),
        ...answer,
      },
      annotations: sends,
    },
    async ({ finding, token, ...options }) => {
      const { original, repeating } = await prepare(token, services)
      const verified = orThrow(await verifyRequest(original, inspector, repeating, finding))
      return writeAnswer(formsOfDocument(verified), options)
    },
  )
}

/** Prepares the replay of a request that changes no data. @throws ToolError */
async function prepare(token: string, services: ReplayToolServices) {
  const { profile: original } = await findStored(token, services)
  const plan = planReplay(original)
  if (!plan.isPossible) throw new ToolError([plan.reason, plan.parent].filter(part => part !== '').join(' '))
  if (plan.caution !== '') throw new ToolError(`${plan.caution} Only a person can replay it, on its page.`)
  return { original, repeating: createRepeating(plan, undefined, services) }
}

/** @throws ToolError */
function orThrow<result extends object>(result: result | { readonly problem: string }): result {
  if ('problem' in result) throw new ToolError(result.problem)
  return result
}

/** The entry of zod, which is loaded with the SDK. */
type Zod = typeof z

/** Longer lists are read page by page. */
const limitOfList = 100

/** Describes the inputs that several tools take. */
/** The inputs that several tools take, by name. */
function createInputs(z: Zod) {
  return {
    token: z
      .string('must be a token (six hexadecimal digits) or "latest"')
      .refine(word => word === latest || isToken(word), 'must be a token (six hexadecimal digits) or "latest"')
      .describe('the token of a profile, or latest'),
    filters: toShape(z, filterOptions),
    paging: toShape(z, pagingOptions),
    answer: {
      format: z.enum(['markdown', 'json']).describe('the form of the answer').default('markdown'),
      max_length: wholeNumber(z, 200_000, 500)
        .describe('the greatest number of characters of the answer')
        .default(20_000),
    },
  }
}

/** A whole number; also one that is written as a text. */
function wholeNumber(z: Zod, most: number, least = 1): z.ZodCoercedNumber {
  const message = `must be a whole number from ${least} to ${most}`
  return z.coerce.number(message).int(message).min(least, message).max(most, message)
}

/** Reads the filters of a tool as the console reads its options. @throws ToolError */
function readSearch(values: Readonly<Record<string, unknown>>, { program }: ToolServices): ListRequest {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '' && value !== false)
  const options = Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
  try {
    return parseSearch({ options: program === undefined ? options : { program: program(), ...options } })
  } catch (error) {
    throw error instanceof CommandUsageError ? new ToolError(error.message.replace(/^--/, '')) : error
  }
}

function toShape(z: Zod, options: readonly CommandOption[]): Record<string, z.ZodType> {
  return Object.fromEntries(
    options.map(option => [option.name, toSchema(z, option).describe(option.description).optional()]),
  )
}

function toSchema(z: Zod, { choices, name, value }: CommandOption): z.ZodType {
  if (value === undefined) return z.boolean('must be true or false')
  if (choices !== undefined) return z.enum([...choices], `must be one of ${choices.join(', ')}`)
  if (name === 'limit') return wholeNumber(z, limitOfList)
  if (name === 'page') return wholeNumber(z, 1_000_000)
  if (name === 'status' || name === 'slower')
    return z.union([z.string(), z.number()], 'must be a text such as "404", or a number')
  if (name === 'queries') {
    const message = `must be ${rangeHint}`
    return z
      .union([z.string(), z.number()], message)
      .refine(range => parseCountRange(String(range)) !== undefined, message)
  }
  if (value !== 'time') return z.string('must be a text')
  const message = 'must be a date such as 2026-11-20 or 2026-11-20T14:30 (UTC), or seconds since 1970'
  return z.string(message).refine(text => parseMoment(text, 'first') !== undefined, message)
}

/** The form and the length of an answer. */
interface AnswerOptions {
  readonly format: 'markdown' | 'json'
  readonly max_length: number
}

/** An answer in both forms; only the requested one is made. */
type AnswerForms = Readonly<Record<DataForm, () => unknown>>

function formsOf(shown: ShownProfile, panel?: string): AnswerForms {
  return { json: () => toJson(shown, panel), md: () => toMarkdown(shown, panel) }
}

/** The forms of a document of the console. */
function formsOfDocument({ document }: { readonly document: Document }): AnswerForms {
  return { json: () => document.json, md: () => formatMarkdown(document) }
}

/**
 * Writes an answer in the requested form. A text that is too long is cut at the end of a line. Remarks, also the one
 * about the cut, are a text of their own, so that recorded data cannot pretend to be one.
 */
function writeAnswer(forms: AnswerForms, options: AnswerOptions, ...remarks: readonly string[]): string[] {
  const text = options.format === 'json' ? toVisibleJson(forms.json()) : String(forms.md())
  const kept = cut(text, options.max_length)
  const left = text.length - kept.length
  const advice = 'Ask for less (a panel, a lower limit), or raise max_length.'
  const notes = left === 0 ? remarks : [`Cut: ${left.toLocaleString('en')} more characters. ${advice}`, ...remarks]
  return notes.length === 0 ? [kept] : [kept, notes.join('\n')]
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = text.lastIndexOf('\n', limit)
  return text.slice(0, end > 0 ? end : limit).toWellFormed()
}
