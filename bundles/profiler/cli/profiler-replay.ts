import { readFile } from 'node:fs/promises'
import {
  type CommandInput,
  CommandUsageError,
  type ConsoleCommand,
  exitCodes,
} from '../../../kernel/console-command.ts'
import type { Output } from '../../../lib/console/output.ts'
import { type PossibleReplay, planReplay } from '../insight/replay/plan-replay.ts'
import type { Replayer, ReplayInput } from '../insight/replay/replayer.ts'
import { readOriginal } from '../record/recording-policy.ts'
import type { ProfileStorage, StoredProfile } from '../store/profile-storage.ts'
import { findRecord, latest, missing, tokenArgument } from './find-profile.ts'

/** What the command works with. */
export interface ReplayServices {
  readonly storage: ProfileStorage
  readonly replayer: Replayer
  /** Makes the application ready for requests, which most commands have no need of. */
  readonly boot: () => void
}

/** Creates the command that makes a recorded request once more, by the code as it is now, and tells what has changed. */
export function createProfilerReplay(services: ReplayServices): ConsoleCommand {
  return {
    name: 'profiler:replay',
    description: 'Makes a recorded request once more and tells what has changed; exit code 1 when anything has',
    arguments: [tokenArgument(services.storage)],
    options: [
      { name: 'yes', description: 'does not ask before a request that may change something' },
      { name: 'cookie', value: 'pairs', description: 'the cookies to send, as their values are never stored' },
      { name: 'authorization', value: 'value', description: 'the header Authorization to send' },
      { name: 'body', value: 'file', description: 'a file with the body to send in the place of what was kept' },
    ],
    examples: [
      { line: 'profiler:replay latest', purpose: 'replays the latest request, after a change of the code' },
      { line: 'profiler:replay 1a2b3c --cookie session=4d5e6f --yes', purpose: 'asks nothing, as a script wants it' },
    ],
    run: (input, output) => replay(services, input, output),
  }
}

async function replay(
  { boot, replayer, storage }: ReplayServices,
  input: CommandInput,
  output: Output,
): Promise<0 | 1> {
  const word = String(input.arguments.token)
  const fail = (reason: string) => {
    output.error(reason)
    return exitCodes.failure
  }
  const original = await findOriginal(storage, word)
  if (original === undefined) return fail(missing(word))
  const plan = planReplay(original.profile)
  if (!plan.isPossible) return fail(plan.parent === '' ? plan.reason : `${plan.reason} (${plan.parent})`)
  if (plan.caution !== '' && input.options.yes === undefined) {
    const { method, target } = plan
    if (!(await input.confirm(`${plan.caution} Send ${method} ${target}?`))) return fail('Nothing was sent.')
  }
  const supplied = await readInput(input)
  for (const remark of remarksOf(plan, supplied)) output.note(remark)
  boot()
  const result = await replayer.replay(plan, supplied)
  const repeated = 'token' in result ? await storage.find(result.token) : undefined
  if (repeated === undefined) return fail('problem' in result ? result.problem : missing(result.token))
  const { toCompareDocument } = await import('./profiler-compare.ts')
  const { document, verdict } = toCompareDocument(original.profile, repeated.profile)
  output.print(document)
  return verdict.isSame ? exitCodes.success : exitCodes.failure
}

/** Whoever replays a replay has replayed a replay, but not for long. */
const chainLimit = 10

/** The latest request is one that came from outside: what is replayed once more is compared with what it was at first. */
async function findOriginal(storage: ProfileStorage, word: string): Promise<StoredProfile | undefined> {
  let found = await findRecord(storage, word)
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
  if (body === undefined) return { headers: new Map(headers) }
  try {
    return { headers: new Map(headers), body: await readFile(body) }
  } catch {
    throw new CommandUsageError(`--body must name a file that can be read, not "${body}".`)
  }
}

/** What is not sent as it was. */
function remarksOf({ body, isTargetMasked, notes, secrets }: PossibleReplay, supplied: ReplayInput): string[] {
  const left = secrets.filter(({ name }) => !supplied.headers?.has(name)).map(({ name }) => name)
  return [
    ...(left.length === 0 ? [] : [`Not sent, as values are never stored: ${left.join(', ')}.`]),
    ...(isTargetMasked ? ['Secrets in the address are masked, and sent so.'] : []),
    ...(body.note === '' || supplied.body !== undefined ? [] : [body.note]),
    ...notes,
  ]
}
