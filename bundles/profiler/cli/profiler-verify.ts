import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import type { Document } from '../../../lib/console/document.ts'
import type { Inspector } from '../insight/findings/inspector.ts'
import { judgeFix, listFlaws } from '../insight/replay/judge-fix.ts'
import type { Profile } from '../profile/profile.ts'
import { tokenArgument } from './find-profile.ts'
import { type ReplayServices, replayOptions, replayOriginal } from './profiler-replay.ts'

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
      const replayed = await replayOriginal(services, input, output)
      if (replayed === undefined) return exitCodes.failure
      const verified = toVerifyDocument(replayed.original, replayed.repeated, inspector, input.options.finding)
      if (verified === undefined) {
        output.error('The request has no such exception or finding.')
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

/** Writes whether the flaws of a request are fixed in its replay, by default all; `undefined` without any. */
export function toVerifyDocument(
  original: Profile,
  repeated: Profile,
  inspector: Inspector,
  wanted?: string,
): VerifyDocument | undefined {
  const before = { profile: original, findings: inspector.inspect(original) }
  const after = { profile: repeated, findings: inspector.inspect(repeated) }
  const flaws = listFlaws(before).filter(({ finding, id }) => [id, finding?.rule, undefined].includes(wanted))
  const verdicts = flaws.map(flaw => ({ id: flaw.id, title: flaw.title, ...judgeFix(flaw, before, after) }))
  if (verdicts.length === 0) return undefined
  const tokens = { original: original.summary.token, replay: repeated.summary.token }
  const isFixed = verdicts.every(({ isFixed }) => isFixed)
  return {
    isFixed,
    document: {
      blocks: [
        {
          kind: 'table',
          table: {
            columns: [{ title: 'Finding' }, { title: 'Verdict' }],
            rows: verdicts.map(({ isFixed, text, title }) => [title, { text, tone: isFixed ? 'ok' : 'warning' }]),
          },
        },
        {
          kind: 'text',
          text: `bin/console profiler:compare ${tokens.original} ${tokens.replay} shows all differences.`,
        },
      ],
      json: { isFixed, ...tokens, verdicts },
    },
  }
}
