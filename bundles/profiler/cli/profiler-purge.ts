import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { formatBytes, formatCount } from '../profile/format.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** Creates the command that deletes all records but those that are pinned. */
export function createProfilerPurge(storage: ProfileStorage): ConsoleCommand {
  return {
    name: 'profiler:purge',
    description: 'Deletes all records but those that are pinned',
    options: [{ name: 'yes', description: 'does not ask' }],
    examples: [{ line: 'profiler:purge --yes', purpose: 'deletes them without a question, as in a script' }],
    async run({ confirm, options }, output) {
      const before = await storage.usage()
      const pinned = (await storage.pinned()).size
      const count = before.profiles - pinned
      const what = `${formatCount(count, 'record')}, ${formatBytes(before.bytes)}`
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
        after.profiles === 0 ? '' : ` ${formatCount(after.profiles, 'record')} stay${after.profiles === 1 ? 's' : ''}.`
      output.print({
        blocks: [{ kind: 'text', text: `${formatCount(deleted, 'record')} deleted.${rest}` }],
        json: { deleted, kept: after.profiles },
      })
      return exitCodes.success
    },
  }
}
