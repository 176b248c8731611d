import {
  type CommandInput,
  CommandUsageError,
  type ConsoleCommand,
  exitCodes,
} from '../../../kernel/console-command.ts'
import type { Explainer } from '../../../kernel/explainer.ts'
import type { Block, Document } from '../../../lib/console/document.ts'
import type { Output } from '../../../lib/console/output.ts'
import { flattenError } from '../../../lib/errors/flat-error.ts'
import { explainDialects, explainQuery, findObstacle, findUnknown, toExplainable } from '../insight/explain.ts'
import { formatText } from '../profile/format-value.ts'
import { readQueries, type StoredQuery } from '../profile/queries.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { findRecord, missing, tokenArgument } from './find-profile.ts'

/** The services that the command uses. */
export interface ExplainServices {
  readonly storage: ProfileStorage
  readonly explainers: readonly Explainer[]
}

/** Creates the command that shows how the database runs a query of a profile. There is no page for it. */
export function createProfilerExplain(services: ExplainServices): ConsoleCommand {
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
  const fail = (reason: string) => {
    output.error(reason)
    return exitCodes.failure
  }
  const token = input.arguments.token ?? ''
  const found = await findRecord(storage, token)
  if (found === undefined) return fail(missing(token))
  const number = input.arguments.query ?? ''
  if (!/^\d+$/.test(number)) throw new CommandUsageError(`The query must be a number, not "${number}".`)
  const { queries } = readQueries(found.profile)
  const query = queries[Number(number) - 1]
  if (query === undefined) return fail(`The profile has no query ${number}: it has ${queries.length}.`)
  const { system } = query
  const obstacle = findObstacle(query)
  if (obstacle !== undefined) return fail(`The query cannot be explained: ${obstacle}.`)
  const dialect = explainDialects.get(system)
  if (dialect === undefined)
    return fail(`Queries of ${system} cannot be explained, only those of ${[...explainDialects.keys()].join(', ')}.`)
  const explainer = explainers.find(explainer => explainer.system === system)
  if (explainer === undefined)
    return fail(`No connection: a bundle has to add one with app.explainers.push({ system: '${system}', … }).`)

  const explainable = toExplainable(query, new Map(new URLSearchParams(input.options.values)))
  const unknown = findUnknown(explainable)
  if (unknown.length > 0 && dialect.explainGenerically === undefined) {
    const example = unknown.map(name => `${name}=…`).join('&')
    return fail(`The plan depends on values that the profile does not have: --values "${example}".`)
  }
  try {
    const rows = await explainQuery(explainable, dialect, await explainer.connect())
    output.print(toDocument(found.profile.summary.token, query, unknown, rows))
    return exitCodes.success
  } catch (error) {
    return fail(`The database has refused it: ${flattenError(error, { hasFrames: false }).message}`)
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
