import { readFile } from 'node:fs/promises'
import {
  type CommandInput,
  type CommandOption,
  CommandUsageError,
  type ConsoleCommand,
  exitCodes,
} from '../../../kernel/contracts/console-command.ts'
import type { Block, Column, Document } from '../../../lib/console/document.ts'
import type { Output } from '../../../lib/console/output.ts'
import { compareFindings } from '../insight/compare/compare-findings.ts'
import { compareProfiles } from '../insight/compare/comparison.ts'
import { type Verdict, writeChanges } from '../insight/compare/judge-comparison.ts'
import { isFixed, listFlaws, verifyFlaws } from '../insight/compare/judge-fix.ts'
import type { Inspector } from '../insight/findings/inspector.ts'
import { findPredecessors, likenessOf } from '../insight/relatives.ts'
import {
  createRepeating,
  type PossibleReplay,
  planReplay,
  type Repeating,
  type ReplayInput,
} from '../insight/replay/replay.ts'
import { findRestart } from '../insight/since-edit.ts'
import type { Profile } from '../profile/profile.ts'
import { hasConsole, readOriginal } from '../record/recording-policy.ts'
import { type ProfileStorage, readLimit } from '../store/profile-storage.ts'
import { type Delta, toCompareView } from '../web/pages/compare-page.ts'
import { type CommandServices, fail, findNamed, latest, tokenArgument } from './profiler-list.ts'

type ReplayServices = Pick<CommandServices, 'boot' | 'inspector' | 'replayer' | 'storage'>

/** Creates the command that replays a recorded request with the current code, and compares the two profiles. */
export function createProfilerReplay(services: ReplayServices): ConsoleCommand {
  return {
    name: 'profiler:replay',
    description: 'Replays a recorded request and compares the profiles; exit code 1 when they differ',
    arguments: [tokenArgument(services.storage)],
    options: replayOptions,
    examples: [
      { line: 'profiler:replay latest', purpose: 'replays the latest request, after a change of the code' },
      { line: 'profiler:replay 1a2b3c --cookie session=4d5e6f --yes', purpose: 'does not ask, for scripts' },
    ],
    run: (input, output) => replay(services, input, output),
  }
}

const replayOptions: readonly CommandOption[] = [
  { name: 'yes', description: 'does not ask before a request that may change data' },
  { name: 'cookie', value: 'pairs', description: 'the cookies to send; their values are never stored' },
  {
    name: 'authorization',
    value: 'value',
    description: 'the header Authorization to send; its value is never stored',
  },
  { name: 'body', value: 'file', description: 'a file with the body to send instead of the recorded one' },
]

async function replay(services: ReplayServices, input: CommandInput, output: Output): Promise<0 | 1> {
  const prepared = await prepareReplay(services, input, output)
  if (prepared === undefined) return exitCodes.failure
  const repeated = await prepared.repeating.repeat()
  if ('problem' in repeated) return fail(output, repeated.problem)
  const [completed] = await prepared.repeating.complete([repeated.profile])
  const { document, verdict } = await compareStored(services, prepared.original, completed)
  output.print(document)
  return verdict.isSame ? exitCodes.success : exitCodes.failure
}

/**
 * Prepares the replay of the request that a command names: gives its profile, and what replays it. Gives `undefined`
 * if the request is not replayed, and prints the reason.
 */
async function prepareReplay(services: ReplayServices, input: CommandInput, output: Output) {
  const { boot, storage } = services
  const refuse = (reason: string) => {
    output.error(reason)
    return undefined
  }
  const original = await findOriginal(storage, input.arguments.token ?? '', output)
  if (original === undefined) return undefined
  const plan = planReplay(original.profile)
  if (!plan.isPossible) return refuse(plan.parent === '' ? plan.reason : `${plan.reason} (${plan.parent})`)
  if (plan.caution !== '' && input.options.yes === undefined) {
    const { method, target } = plan
    if (!(await input.confirm(`${plan.caution} Send ${method} ${target}?`))) return refuse('Nothing was sent.')
  }
  const supplied = await readInput(input)
  for (const remark of remarksOf(plan, supplied)) output.note(remark)
  await boot()
  return { original: original.profile, repeating: createRepeating(plan, supplied, services) }
}

/** The greatest number of replays of replays that are followed to the original. */
const chainLimit = 10

/** Finds the profile to replay. If the latest request is a replay, the profile is its original. */
async function findOriginal(storage: ProfileStorage, word: string, output: Output) {
  let found = await findNamed(storage, word, output)
  for (let step = 0; word === latest && step < chainLimit; step++) {
    const token = found && readOriginal(found.profile)
    const original = token === undefined ? undefined : await storage.find(token)
    if (original === undefined) break
    found = original
  }
  return found
}

/** @throws CommandUsageError */
async function readInput({ options }: CommandInput): Promise<ReplayInput> {
  const { authorization, body, cookie } = options
  const headers = Object.entries({ authorization, cookie }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  )
  if (cookie !== undefined && !/^[^\s=;]+=/.test(cookie))
    throw new CommandUsageError(`--cookie must be pairs such as ${examples.cookie}.`)
  if (body === undefined) return { headers: new Map(headers) }
  try {
    return { headers: new Map(headers), body: await readFile(body) }
  } catch {
    throw new CommandUsageError(`--body must name a file that can be read, not "${body}".`)
  }
}

/** Values of the options for headers that are never stored. */
const examples: Readonly<Record<string, string>> = { authorization: 'Bearer …', cookie: 'session=…' }

/** The parts of the request that are not sent as they were. */
function remarksOf({ body, isTargetMasked, notes, secrets }: PossibleReplay, supplied: ReplayInput): string[] {
  const left = secrets.filter(({ name }) => !supplied.headers?.has(name)).map(({ name }) => name)
  const options = left.filter(name => name in examples).map(name => `--${name} '${examples[name]}'`)
  const advice = options.length === 0 ? '' : ` Send them with ${options.join(' and ')}.`
  return [
    ...(left.length === 0 ? [] : [`Not sent, because values are never stored: ${left.join(', ')}.${advice}`]),
    ...(isTargetMasked ? ['Secrets in the address are masked, and are sent as ******.'] : []),
    ...(body.note === '' || supplied.body !== undefined ? [] : [body.note]),
    ...notes,
  ]
}

/** Creates the command that replays a request with the current code, and prints whether its flaws are fixed. */
export function createProfilerVerify(services: ReplayServices): ConsoleCommand {
  const { inspector, storage } = services
  return {
    name: 'profiler:verify',
    description: 'Replays a recorded request and checks whether its findings are fixed; exit code 1 when they are not',
    arguments: [tokenArgument(storage)],
    options: [
      { name: 'finding', value: 'rule', description: 'checks only this rule, or "exception"' },
      ...replayOptions,
    ],
    examples: [
      { line: 'profiler:verify 1a2b3c', purpose: 'checks the exception and all findings, after a change of the code' },
      { line: 'profiler:verify 1a2b3c --finding repeated-queries', purpose: 'checks one rule' },
    ],
    async run(input, output) {
      const prepared = await prepareReplay(services, input, output)
      if (prepared === undefined) return exitCodes.failure
      const { original, repeating } = prepared
      const verified = await verifyRequest(original, inspector, repeating, input.options.finding)
      if ('problem' in verified) return fail(output, verified.problem)
      output.print(verified.document)
      return verified.isFixed ? exitCodes.success : exitCodes.failure
    },
  }
}

/** The verdict on a replay as a document. */
interface VerifyDocument {
  readonly document: Document
  /** Whether all flaws are fixed. */
  readonly isFixed: boolean
}

/** The colours of states; that of others is a warning. */
const tones: Readonly<Record<string, 'ok' | 'error'>> = { fixed: 'ok', failing: 'error' }

/** Replays a request, and writes whether its flaws are fixed, by default all of them. */
export async function verifyRequest(
  original: Profile,
  inspector: Inspector,
  repeating: Repeating,
  wanted?: string,
): Promise<VerifyDocument | { readonly problem: string }> {
  const [joined] = await repeating.complete([original])
  const all = listFlaws(joined, inspector.inspect(joined))
  const flaws = all.filter(({ finding, id }) => [id, finding?.rule, undefined].includes(wanted))
  if (flaws.length === 0) {
    const known = all.map(({ finding, id }) => finding?.rule ?? id)
    const right = known.length === 0 ? '' : `: it has ${known.join(', ')}`
    return { problem: `The request has no such exception or finding${right}.` }
  }
  const result = await verifyFlaws(original, flaws, inspector, repeating)
  if ('problem' in result) return result
  const { replays, verdicts } = result
  const tokens = { original: original.summary.token, replay: replays[0].summary.token }
  const areFixed = verdicts.every(isFixed)
  return {
    isFixed: areFixed,
    document: {
      blocks: [
        {
          kind: 'table',
          table: {
            columns: [{ title: 'Finding' }, { title: 'Verdict' }],
            rows: verdicts.map(({ state, text, title }) => [title, { text, tone: tones[state] ?? 'warning' }]),
          },
        },
        ...(replays.length === 1
          ? []
          : [{ kind: 'text', text: `Times are the medians of ${replays.length} replays.` } as const]),
        ...(hasConsole(original)
          ? [
              {
                kind: 'text',
                text: `bin/console profiler:compare ${tokens.original} ${tokens.replay} shows all differences.`,
              } as const,
            ]
          : []),
      ],
      json: { isFixed: areFixed, ...tokens, verdicts },
    },
  }
}

/** Creates the command that compares two profiles. */
export function createProfilerCompare(services: CompareServices): ConsoleCommand {
  const { storage } = services
  return {
    name: 'profiler:compare',
    description: 'Compares two profiles',
    arguments: [
      tokenArgument(storage, { name: 'a' }),
      tokenArgument(storage, {
        name: 'b',
        description: 'the other profile; by default the previous profile of the same request',
        isOptional: true,
      }),
    ],
    examples: [
      { line: 'profiler:compare 1a2b3c 4d5e6f', purpose: 'compares two profiles' },
      { line: 'profiler:compare latest', purpose: 'compares the latest request with the previous one' },
    ],
    async run({ arguments: { a = '', b } }, output) {
      const named = await findNamed(storage, a, output)
      if (named === undefined) return exitCodes.failure
      const { summaries } = await storage.search({ limit: readLimit })
      const word = b ?? findPredecessors(summaries, named.profile.summary).previous?.token
      if (word === undefined) output.error(`There is no earlier profile of the same request as "${a}".`)
      const other = word === undefined ? undefined : await findNamed(storage, word, output)
      if (other === undefined) return exitCodes.failure
      const [first, second] = b === undefined ? [other.profile, named.profile] : [named.profile, other.profile]
      output.print((await compareStored(services, first, second)).document)
      return exitCodes.success
    },
  }
}

/** The services that a comparison needs. */
interface CompareServices {
  readonly inspector: Inspector
  readonly storage: ProfileStorage
}

/** Compares two stored profiles. Writes the verdict, then the differences, part by part. */
export async function compareStored(
  { inspector, storage }: CompareServices,
  first: Profile,
  second: Profile,
): Promise<{ readonly document: Document; readonly verdict: Verdict }> {
  const { summaries } = await storage.search({ limit: readLimit })
  const { spread } = findPredecessors(summaries, second.summary)
  const comparison = compareProfiles(first, second, spread)
  const likeness = likenessOf(first.summary, second.summary)
  const findings = await compareFindings(first, second, inspector, storage)
  const { parts, records, restart, verdict } = toCompareView(first, second, { comparison, findings })
  const { asked, changes, isSame, title } = verdict
  const blocks: Block[] = [
    {
      kind: 'text',
      text: isSame ? `${title}.` : `${title}: ${writeChanges(changes)}.`,
      tone: isSame ? 'ok' : 'warning',
    },
    { kind: 'text', text: `Compared: ${likeness}.` },
    ...(asked.length === 0 ? [] : [{ kind: 'text', text: `Request differs: ${writeChanges(asked)}.` } as const]),
    ...(restart === false ? [] : [{ kind: 'text', text: describeRestart(restart) } as const]),
    { kind: 'fields', fields: records.map(record => [record.name, describe(record)]) },
    ...parts.flatMap(toBlocks),
  ]
  const json = {
    verdict,
    likeness,
    restart: findRestart(first, second) ?? null,
    first: first.summary,
    second: second.summary,
    comparison: { ...comparison, findings },
  }
  return { document: { blocks, json }, verdict }
}

type View = ReturnType<typeof toCompareView>

function describe({ duration, method, role, statusText, target, token }: View['records'][number]): string {
  return [token, statusText, `${method} ${target}`, duration, ...(role === '' ? [] : [role])].join('  ')
}

function describeRestart({ changed, time }: Exclude<View['restart'], false>): string {
  const files = changed.length === 0 ? '' : `, after edits of ${changed.join(', ')}`
  return `The server restarted in between, at ${time.day}, ${time.clock} UTC${files}.`
}

/** Equal rows are left out. */
function toBlocks({ hasDeltas, rows, title }: View['parts'][number]): Block[] {
  if (rows.length === 0) return []
  const values = hasDeltas ? ({ align: 'right' } as const) : {}
  const columns: Column[] = [{ title }, { title: 'A', ...values }, { title: 'B', ...values }]
  if (hasDeltas) columns.push({ title: 'Difference', align: 'right', cut: 'never' })
  const texts = rows.map(({ delta, first, label, name, note, second }) => [
    note === '' ? name : `${name} (${note})`,
    oneLine(first) || (label && '–'),
    oneLine(second) || (label && '–'),
    ...(delta ? [{ text: [delta.text, delta.share].join(' ').trim(), tone: toneOf(delta) }] : []),
  ])
  return [{ kind: 'table', table: { columns, rows: texts } }]
}

function toneOf({ bar, tone }: Delta): 'muted' | 'ok' | 'warning' {
  if (!bar) return 'muted'
  return tone === 'slower' ? 'warning' : 'ok'
}

function oneLine(text: string): string {
  return text.replace(/\n/g, '; ')
}
