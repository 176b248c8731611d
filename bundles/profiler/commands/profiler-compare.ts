import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { findPrevious } from '../pages/find-previous.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { findRecord, missing, tokenArgument } from './find-record.ts'

/** Creates the command that tells what is different in two records. */
export function createProfilerCompare(storage: ProfileStorage): ConsoleCommand {
  return {
    name: 'profiler:compare',
    description: 'Tells what is different in two records',
    arguments: [
      tokenArgument(storage, { name: 'a' }),
      tokenArgument(storage, {
        name: 'b',
        description: 'the other record; without it, a is compared with the one before it that asked for the same',
        isOptional: true,
      }),
    ],
    examples: [
      { line: 'profiler:compare 1a2b3c 4d5e6f', purpose: 'compares two records' },
      { line: 'profiler:compare latest', purpose: 'compares the latest request with the one before it' },
    ],
    async run({ arguments: { a: word, b } }, output) {
      const a = String(word)
      const named = await findRecord(storage, a)
      if (named === undefined) {
        output.error(missing(a))
        return exitCodes.failure
      }
      const before = b === undefined ? await findPrevious(storage, named.profile.summary) : undefined
      const other = await findRecord(storage, b ?? before?.token ?? a)
      if (other === undefined || (b === undefined && before === undefined)) {
        output.error(b === undefined ? `There is no record before "${a}" that asked for the same.` : missing(b))
        return exitCodes.failure
      }
      const [first, second] = b === undefined ? [other.profile, named.profile] : [named.profile, other.profile]
      const { toCompareDocument } = await import('./to-compare-document.ts')
      output.print(toCompareDocument(first, second).document)
      return exitCodes.success
    },
  }
}
