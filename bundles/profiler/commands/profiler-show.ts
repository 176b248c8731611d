import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import type { Inspector } from '../findings/inspector.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { findRecord, missing, tokenArgument } from './find-record.ts'
import { toRecordDocument } from './to-record-document.ts'

/** Creates the command that tells what a record has, or one panel of it. */
export function createProfilerShow(storage: ProfileStorage, inspector: Inspector): ConsoleCommand {
  return {
    name: 'profiler:show',
    description: 'Tells what was recorded of a request, and what could be better about it',
    arguments: [tokenArgument(storage)],
    options: [{ name: 'panel', value: 'name', description: 'tells all of one panel, such as request or events' }],
    examples: [
      { line: 'profiler:show latest', purpose: 'tells of the latest request, and which panels there are' },
      { line: 'profiler:show 1a2b3c --panel logger', purpose: 'tells what was logged' },
      { line: 'profiler:show latest --panel findings', purpose: 'tells only what could be better' },
      { line: 'profiler:show latest --json', purpose: 'gives the whole profile to a program' },
    ],
    async run({ arguments: words, options: { panel } }, output) {
      const token = String(words.token)
      const found = await findRecord(storage, token)
      if (found === undefined) {
        output.error(missing(token))
        return exitCodes.failure
      }
      const findings = inspector.inspect(found.profile)
      const names = [...Object.keys(found.profile.data), 'findings']
      if (panel !== undefined && !names.includes(panel)) {
        output.error(`The record has no panel "${panel}". It has ${names.join(', ')}.`)
        return exitCodes.failure
      }
      output.print(toRecordDocument(found.profile, findings, panel))
      return exitCodes.success
    },
  }
}
