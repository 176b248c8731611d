import { randomBytes } from 'node:crypto'
import { rename, rm, stat, writeFile } from 'node:fs/promises'
import {
  type CommandInput,
  type CommandOption,
  CommandUsageError,
  type ConsoleCommand,
  exitCodes,
} from '../../../kernel/contracts/console-command.ts'
import { type Block, type Cell, type Column, type Document, withoutEmpty } from '../../../lib/console/document.ts'
import type { Output } from '../../../lib/console/output.ts'
import { flattenError } from '../../../lib/errors/flat-error.ts'
import { writingAdvice } from '../../../lib/folders.ts'
import { readProperty } from '../../../lib/text/describe-value.ts'
import { showProfile } from '../insight/relatives.ts'
import {
  describeStatistics,
  gatherStatistics,
  measureStatistics,
  type RouteStatistics,
  statisticFields,
} from '../insight/routes.ts'
import { searchMains } from '../insight/search-list.ts'
import { nameOfWork, toSummaryView } from '../insight/summary-view.ts'
import { formatBytes, formatCount, formatText } from '../profile/format.ts'
import type { DataForm, ExportKind } from '../profile/links.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { explainDialects, explainQuery, findObstacle, findUnknown, toExplainable } from '../subjects/queries/explain.ts'
import { readQueries, type StoredQuery } from '../subjects/queries/read.ts'
import { hasContent, listPanels } from '../web/pages/render-panel.ts'
import { createProfilerCpu } from './profiler-cpu.ts'
import {
  type CommandServices,
  createProfilerList,
  fail,
  filterOptions,
  findNamed,
  noteMisfits,
  parseSearch,
  tokenArgument,
} from './profiler-list.ts'
import { createProfilerCompare, createProfilerReplay, createProfilerVerify } from './replay-commands.ts'

/** Creates the commands of the profiler. */
export function createCommands(services: CommandServices): ConsoleCommand[] {
  const { inspector, storage } = services
  return [
    createProfilerCompare(services),
    createProfilerCpu(services),
    createProfilerExplain(services),
    createProfilerExport(services),
    createProfilerList(storage, inspector),
    createProfilerPurge(storage),
    createProfilerReplay(services),
    createProfilerShow(services),
    createProfilerStats(storage),
    createProfilerVerify(services),
  ]
}

/** Creates the command that shows a profile or one of its panels, as its `.md` and `.json` addresses do. */
function createProfilerShow({ inspector, panels, storage }: CommandServices): ConsoleCommand {
  const panelOption: CommandOption = {
    name: 'panel',
    value: 'name',
    description: 'shows one panel, such as request or events',
    suggest: async () => (await panels()).map(({ label, name }) => [name, label]),
  }
  return {
    name: 'profiler:show',
    description: 'Shows the profile of a request, with its findings',
    arguments: [tokenArgument(storage)],
    options: [panelOption],
    examples: [
      { line: 'profiler:show latest', purpose: 'shows the latest request, failures first' },
      { line: 'profiler:show 1a2b3c --panel logger', purpose: 'shows the log messages' },
      { line: 'profiler:show latest --panel findings', purpose: 'shows the findings only' },
      { line: 'profiler:show latest --json', purpose: 'writes the whole profile for a program' },
    ],
    async run({ arguments: words, options: { panel } }, output) {
      const found = await findNamed(storage, words.token ?? '', output)
      if (found === undefined) return exitCodes.failure
      const { profile } = found
      const all = await panels()
      const known = listPanels(all, profile)
      if (panel !== undefined && !known.includes(panel))
        return fail(output, `The profile has no panel "${panel}". It has ${known.join(', ')}.`)
      const [{ toJson }, { toMarkdown }] = await Promise.all([
        import('../export/json.ts'),
        import('../export/markdown.ts'),
      ])
      const shown = await showProfile(found, storage, inspector)
      const tone = toSummaryView(profile.summary).tone
      output.print({
        blocks: [{ kind: 'markdown', text: toMarkdown(shown, panel), tone: tone === 'plain' ? 'strong' : tone }],
        json: toJson(shown, panel),
      })
      if (panel === undefined && output.format === 'text') {
        const names = all.filter(panel => hasContent(panel, shown)).map(({ name }) => name)
        output.note(`\n--panel shows one of them in detail: ${names.join(', ')}.`)
      }
      return exitCodes.success
    },
  }
}

type ExplainServices = Pick<CommandServices, 'explainers' | 'storage'>

/** Creates the command that shows how the database runs a query of a profile. There is no page for it. */
function createProfilerExplain(services: ExplainServices): ConsoleCommand {
  return {
    name: 'profiler:explain',
    description: 'Shows the plan of a query that reads, without running it',
    arguments: [
      tokenArgument(services.storage),
      { name: 'query', description: 'the number of the query in the panel Database' },
    ],
    options: [
      {
        name: 'values',
        value: 'pairs',
        description: 'values that the profile does not have, such as "email=ada&limit=10"',
      },
    ],
    examples: [
      { line: 'profiler:explain latest 3', purpose: 'explains the third query of the latest request' },
      { line: 'profiler:explain 1a2b3c 1 --values "email=ada@example.org"', purpose: 'explains it for this value' },
    ],
    run: (input, output) => explain(services, input, output),
  }
}

async function explain({ explainers, storage }: ExplainServices, input: CommandInput, output: Output): Promise<0 | 1> {
  const found = await findNamed(storage, input.arguments.token ?? '', output)
  if (found === undefined) return exitCodes.failure
  const number = input.arguments.query ?? ''
  if (!/^\d+$/.test(number)) throw new CommandUsageError(`The query must be a number, not "${number}".`)
  const { queries } = readQueries(found.profile)
  const query = queries[Number(number) - 1]
  if (query === undefined) return fail(output, `The profile has no query ${number}: it has ${queries.length}.`)
  const { system } = query
  const obstacle = findObstacle(query)
  if (obstacle !== undefined) return fail(output, `The query cannot be explained: ${obstacle}.`)
  const dialect = explainDialects.get(system)
  if (dialect === undefined)
    return fail(
      output,
      `Queries of ${system} cannot be explained, only those of ${[...explainDialects.keys()].join(', ')}.`,
    )
  const explainer = explainers.find(explainer => explainer.system === system)
  if (explainer === undefined)
    return fail(output, `No connection: a bundle has to add one with app.explainers.push({ system: '${system}', … }).`)

  const given = new Map(new URLSearchParams(input.options.values))
  const explainable = toExplainable(query, given)
  const names = explainable.values.map(({ name }) => name)
  const foreign = [...given.keys()].find(name => !names.includes(name) && names[Number(name) - 1] === undefined)
  if (foreign !== undefined) {
    const right =
      names.length === 0 ? 'it has no values' : `write --values "${names.map(name => `${name}=…`).join('&')}"`
    throw new CommandUsageError(`The query has no value "${foreign}": ${right}.`)
  }
  const unknown = findUnknown(explainable)
  if (unknown.length > 0 && dialect.explainGenerically === undefined) {
    const example = unknown.map(name => `${name}=…`).join('&')
    return fail(output, `The plan depends on values that the profile does not have: --values "${example}".`)
  }
  try {
    const rows = await explainQuery(explainable, dialect, await explainer.connect())
    output.print(toDocument(found.profile.summary.token, query, unknown, rows))
    return exitCodes.success
  } catch (error) {
    return fail(output, `The database has refused it: ${flattenError(error, { hasFrames: false }).message}`)
  }
}

function toDocument(
  token: string,
  { index, text }: StoredQuery,
  unknown: readonly string[],
  rows: readonly object[],
): Document {
  const remark = `The plan is the same for all values, because these are not known: ${unknown.join(', ')}. --values gives them.`
  return {
    blocks: [
      { kind: 'code', language: 'sql', text },
      toPlanBlock(rows),
      ...(unknown.length > 0 ? [{ kind: 'text', text: remark, tone: 'muted' } as const] : []),
    ],
    json: { token, query: index + 1, statement: text, isGeneric: unknown.length > 0, plan: rows },
  }
}

/** PostgreSQL writes lines of text, MySQL a table. */
function toPlanBlock(rows: readonly object[]): Block {
  const titles = [...new Set(rows.flatMap(row => Object.keys(row)))]
  const cells = rows.map(row => {
    const values = new Map(Object.entries(row))
    return titles.map(title => formatText(values.get(title)))
  })
  if (titles.length <= 1) return { kind: 'code', language: 'text', text: cells.flat().join('\n') }
  return { kind: 'table', table: { columns: titles.map(title => ({ title })), rows: cells } }
}

/**
 * The kinds of an export, which are options. `--json` and `--md` have no description here: every
 * command has these options.
 */
const kinds: readonly { readonly name: ExportKind | DataForm; readonly description: string }[] = [
  { name: 'har', description: 'as an HTTP archive, for developer tools and tests' },
  { name: 'curl', description: 'as a curl command that repeats the request' },
  { name: 'cpuprofile', description: 'as a CPU profile, for developer tools and speedscope' },
  { name: 'html', description: 'as one HTML file with all panels' },
  { name: 'json', description: '' },
  { name: 'md', description: '' },
]

/** Creates the command that exports a profile, as the page of the profile does. */
function createProfilerExport(services: CommandServices): ConsoleCommand {
  const { inspector, storage } = services
  return {
    name: 'profiler:export',
    description: 'Exports a profile as HAR, curl, CPU profile, HTML, JSON or Markdown',
    arguments: [tokenArgument(storage)],
    options: [
      ...kinds.filter(({ description }) => description !== ''),
      { name: 'out', value: 'file', description: 'the file to write, readable by its owner only; by default stdout' },
      { name: 'force', description: 'replaces an existing file' },
    ],
    examples: [
      { line: 'profiler:export latest --curl', purpose: 'writes a curl command that repeats the request' },
      { line: 'profiler:export latest --html --out failed.html', purpose: 'saves the latest request with all panels' },
      { line: 'profiler:export 1a2b3c --har --out page.har --force', purpose: 'replaces a HAR file' },
    ],
    async run({ arguments: words, options }, output) {
      const kind = chooseKind(options)
      const { force, out } = options
      if (out === undefined && force !== undefined) throw new CommandUsageError('--force needs a file: add --out.')
      const found = await findNamed(storage, words.token ?? '', output)
      if (found === undefined) return exitCodes.failure
      const { formatProfile } = await import('../web/export-profile.ts')
      const shown = await showProfile(found, storage, inspector)
      const text = await formatProfile(kind, shown, services)
      if (text === undefined)
        return fail(output, `The CPU was not sampled during the request ${found.profile.summary.token}.`)
      if (out === undefined) {
        output.write(text)
        return exitCodes.success
      }
      const problem = await writeOut(out, text, force !== undefined)
      if (problem !== undefined) return fail(output, problem)
      output.note(`Written to ${out}, ${formatBytes(Buffer.byteLength(text))}.`)
      return exitCodes.success
    },
  }
}

function chooseKind(options: Readonly<Record<string, string>>): ExportKind | DataForm {
  const given = kinds.map(({ name }) => name).filter(name => options[name] !== undefined)
  const [kind, other] = given
  const choice = `one of ${kinds.map(({ name }) => `--${name}`).join(', ')}`
  if (kind === undefined) throw new CommandUsageError(`The format is missing: add ${choice}.`)
  if (other !== undefined) throw new CommandUsageError(`--${kind} and --${other} do not go together: choose ${choice}.`)
  return kind
}

/** Readable by the owner only: a profile is masked, and is private nevertheless. */
const mode = 0o600

/** Returns the problem, if any. A file that is replaced exists at every moment, as the old or the new one. */
async function writeOut(file: string, text: string, isForced: boolean): Promise<string | undefined> {
  const written = isForced ? `${file}.${randomBytes(4).toString('hex')}` : file
  try {
    await writeFile(written, text, { mode, flag: 'wx' })
    if (isForced) await rename(written, file)
    return undefined
  } catch (error) {
    if (isForced) await rm(written, { force: true })
    const isFolder = (await stat(file).catch(() => undefined))?.isDirectory() === true
    const code = isFolder ? 'EISDIR' : String(readProperty(error, 'code'))
    if (code === 'EEXIST') return `${file} exists already: --force replaces it.`
    const advice = code === 'ENOENT' ? ' Create its folder.' : (writingAdvice[code] ?? '')
    return `${file} cannot be written: ${code}.${advice}`
  }
}

/** Creates the command that deletes all profiles except pinned ones. */
function createProfilerPurge(storage: ProfileStorage): ConsoleCommand {
  return {
    name: 'profiler:purge',
    description: 'Deletes all profiles except pinned ones',
    options: [{ name: 'yes', description: 'does not ask' }],
    examples: [{ line: 'profiler:purge --yes', purpose: 'deletes without a question, for scripts' }],
    async run({ confirm, options }, output) {
      const before = await storage.usage()
      const pinned = (await storage.pinned()).size
      const count = before.profiles - pinned
      const what = `${formatCount(count, 'profile')}, ${formatBytes(before.bytes)}`
      if (count > 0) {
        if (options.yes === undefined && !(await confirm(`Delete ${what}?`))) {
          output.note('Nothing was deleted.')
          return exitCodes.failure
        }
        await storage.purge()
      }
      const after = await storage.usage()
      const deleted = before.profiles - after.profiles
      const rest =
        after.profiles === 0 ? '' : ` ${formatCount(after.profiles, 'profile')} stay${after.profiles === 1 ? 's' : ''}.`
      output.print({
        blocks: [{ kind: 'text', text: `${formatCount(deleted, 'profile')} deleted.${rest}` }],
        json: { deleted, kept: after.profiles },
      })
      return exitCodes.success
    },
  }
}

/** Creates the command that shows the statistics of each route. */
function createProfilerStats(storage: ProfileStorage): ConsoleCommand {
  return {
    name: 'profiler:stats',
    description: 'Shows the number of requests, the durations, the database queries and the errors of each route',
    options: [
      ...filterOptions,
      {
        name: 'sort',
        value: 'field',
        choices: statisticFields,
        description: 'the field to sort by, the greatest first; by default count',
      },
    ],
    examples: [
      { line: 'profiler:stats', purpose: 'shows all routes' },
      {
        line: 'profiler:stats --from 2026-11-20 --sort p95',
        purpose: 'shows the requests since a day, the slowest routes first',
      },
    ],
    async run(input, output) {
      const { sort: _, ...options } = input.options
      const wanted = parseSearch({ options })
      await storage.load()
      const { found: main } = await searchMains(storage, wanted)
      const field = statisticFields.find(field => field === input.options.sort) ?? 'count'
      const statistics = gatherStatistics(main).sort(
        (one, other) => measureStatistics(other, field) - measureStatistics(one, field),
      )
      const table = withoutEmpty({ columns, rows: statistics.map(toRow) }, 'Queries')
      output.print({
        blocks: main.length === 0 ? [{ kind: 'text', text: 'No results found' }] : [{ kind: 'table', table }],
        json: { requests: main.length, routes: statistics },
      })
      if (main.length === 0) await noteMisfits(storage, { options }, output)
      return exitCodes.success
    },
  }
}

const columns: readonly Column[] = [
  { title: 'Route' },
  { title: 'Requests', align: 'right', cut: 'never' },
  { title: 'p50', align: 'right', cut: 'never' },
  { title: 'p95', align: 'right', cut: 'never' },
  { title: 'p99', align: 'right', cut: 'never', isOptional: true },
  { title: 'Queries', align: 'right', cut: 'never', isOptional: true },
  { title: 'Errors', align: 'right', cut: 'never' },
  { title: 'Slowest', align: 'right', cut: 'never', isOptional: true },
  { title: 'Token', cut: 'never' },
]

function toRow(statistics: RouteStatistics): Cell[] {
  const { count, errorRate, p50, p95, p99, queries, slowest } = describeStatistics(statistics)
  const { errors, worst } = statistics
  return [
    nameOfWork(statistics) || { text: '(no route)', tone: 'muted' },
    count,
    p50,
    p95,
    p99,
    queries,
    { text: errorRate, tone: errors > 0 ? 'error' : 'muted' },
    slowest,
    { text: worst.token, tone: 'strong' },
  ]
}
