import { readFile } from 'node:fs/promises'
import {
  type CommandInput,
  type CommandOption,
  CommandUsageError,
  type ConsoleCommand,
  exitCodes,
} from '../../../kernel/console-command.ts'
import type { Output } from '../../../lib/console/output.ts'
import { type PossibleReplay, planReplay } from '../insight/replay/plan-replay.ts'
import type { Replayer, ReplayInput } from '../insight/replay/replayer.ts'
import { type Repeated, repeatRequest } from '../insight/replay/verify.ts'
import type { Profile } from '../profile/profile.ts'
import { readOriginal } from '../record/recording-policy.ts'
import type { ProfileStorage, StoredProfile } from '../store/profile-storage.ts'
import { findRecord, latest, missing, tokenArgument } from './find-profile.ts'

/** The services that the command uses. */
export interface ReplayServices {
  readonly storage: ProfileStorage
  readonly replayer: Replayer
  /** Boots the application for requests; most commands do not need that. */
  readonly boot: () => void
}

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

/** The options of commands that replay a request. */
export const replayOptions: readonly CommandOption[] = [
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
  const repeated = await prepared.repeat()
  if ('problem' in repeated) {
    output.error(repeated.problem)
    return exitCodes.failure
  }
  const { compareStored } = await import('./profiler-compare.ts')
  const { document, verdict } = await compareStored(services.storage, prepared.original, repeated.profile)
  output.print(document)
  return verdict.isSame ? exitCodes.success : exitCodes.failure
}

/** The profile of a request, and the function that replays it once. */
interface PreparedReplay {
  readonly original: Profile
  repeat(): Promise<Repeated>
}

/** Prepares the replay of the request that a command names. Prints why it is not replayed, and then gives `undefined`. */
export async function prepareReplay(
  services: ReplayServices,
  input: CommandInput,
  output: Output,
): Promise<PreparedReplay | undefined> {
  const { boot, storage } = services
  const word = input.arguments.token ?? ''
  const fail = (reason: string) => {
    output.error(reason)
    return undefined
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
  return { original: original.profile, repeat: () => repeatRequest(plan, supplied, services) }
}

/** The greatest number of replays of replays that are followed to the original. */
const chainLimit = 10

/** Finds the profile to replay. If the latest request is a replay, this is its original. */
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

/** The parts of the request that are not sent as they were. */
function remarksOf({ body, isTargetMasked, notes, secrets }: PossibleReplay, supplied: ReplayInput): string[] {
  const left = secrets.filter(({ name }) => !supplied.headers?.has(name)).map(({ name }) => name)
  return [
    ...(left.length === 0 ? [] : [`Not sent, because values are never stored: ${left.join(', ')}.`]),
    ...(isTargetMasked ? ['Secrets in the address are masked, and are sent as ******.'] : []),
    ...(body.note === '' || supplied.body !== undefined ? [] : [body.note]),
    ...notes,
  ]
}
