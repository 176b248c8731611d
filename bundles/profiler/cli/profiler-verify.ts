import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import type { Document } from '../../../lib/console/document.ts'
import type { Inspector } from '../insight/findings/inspector.ts'
import { isFixed, listFlaws } from '../insight/replay/judge-fix.ts'
import { type Repeated, verifyFlaws } from '../insight/replay/verify.ts'
import type { Profile } from '../profile/profile.ts'
import { tokenArgument } from './find-profile.ts'
import { prepareReplay, type ReplayServices, replayOptions } from './profiler-replay.ts'

/** The services of the command. */
interface VerifyServices extends ReplayServices {
  readonly inspector: Inspector
}

/** Creates the command that replays a request with the current code, and prints whether its flaws are fixed. */
export function createProfilerVerify(services: VerifyServices): ConsoleCommand {
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
      const { original, repeat } = prepared
      const verified = await verifyRequest(original, inspector, repeat, input.options.finding)
      if ('problem' in verified) {
        output.error(verified.problem)
        return exitCodes.failure
      }
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

const tones = { fixed: 'ok', doubtful: 'warning', present: 'warning', failing: 'error', unsure: 'warning' } as const

/** Replays a request, and writes whether its flaws are fixed, by default all of them. */
export async function verifyRequest(
  original: Profile,
  inspector: Inspector,
  repeat: () => Promise<Repeated>,
  wanted?: string,
): Promise<VerifyDocument | { readonly problem: string }> {
  const flaws = listFlaws(original, inspector.inspect(original)).filter(({ finding, id }) =>
    [id, finding?.rule, undefined].includes(wanted),
  )
  if (flaws.length === 0) return { problem: 'The request has no such exception or finding.' }
  const result = await verifyFlaws(original, flaws, inspector, repeat)
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
            rows: verdicts.map(({ state, text, title }) => [title, { text, tone: tones[state] }]),
          },
        },
        ...(replays.length === 1
          ? []
          : [{ kind: 'text', text: `Times are the medians of ${replays.length} replays.` } as const]),
        {
          kind: 'text',
          text: `bin/console profiler:compare ${tokens.original} ${tokens.replay} shows all differences.`,
        },
      ],
      json: { isFixed: areFixed, ...tokens, verdicts },
    },
  }
}
