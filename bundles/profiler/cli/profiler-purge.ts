import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { formatBytes, formatCount } from '../profile/format.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** Creates the command that deletes all profiles except pinned ones. */
export function createProfilerPurge(storage: ProfileStorage): ConsoleCommand {
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
