import type { Explainer } from '../../../kernel/bundle.ts'
import { type CommandArgument, CommandUsageError } from '../../../kernel/console-command.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { RouteCollection } from '../../../lib/routing/route-collection.ts'
import type { View } from '../../../lib/view/view.ts'
import type { Inspector } from '../insight/findings/inspector.ts'
import { findLatest, mainRequests } from '../insight/relatives.ts'
import type { Replayer } from '../insight/replay/replay.ts'
import { isToken } from '../profile/schema.ts'
import type { ProfileStorage, StoredProfile } from '../store/profile-storage.ts'
import type { ArmFile } from '../subjects/cpu/record.ts'
import type { Assets } from '../web/assets.ts'
import type { ProfilePanel } from '../web/panels/panel.ts'

/** Names the latest main request. */
export const latest = 'latest'

/** Finds the profile of a token, or the latest; `undefined` when it is not stored. @throws CommandUsageError */
export async function findByWord(
  storage: Pick<ProfileStorage, 'find' | 'search'>,
  word: string,
): Promise<StoredProfile | undefined> {
  if (word === latest) {
    const newest = await findLatest(storage)
    return newest && storage.find(newest.token)
  }
  if (!isToken(word))
    throw new CommandUsageError(`"${word}" is no token: a token is six hexadecimal digits, or "${latest}".`)
  return storage.find(word)
}

/** Says that there is no such profile. */
export function missing(word: string): string {
  return word === latest
    ? 'No requests recorded yet.'
    : `There is no profile "${word}": it has expired, was deleted, or never existed.`
}

/** Describes the argument that names a profile. */
export function tokenArgument(
  storage: Pick<ProfileStorage, 'search'>,
  changes: Partial<CommandArgument> = {},
): CommandArgument {
  return {
    name: 'token',
    description: `the token of a profile, or ${latest}`,
    async suggest() {
      const { summaries } = await storage.search({ filters: [mainRequests], limit: 20 })
      const tokens = summaries.map(({ method, status, token, url }) => [token, `${status} ${method} ${url}`] as const)
      return [[latest, 'the latest request'], ...tokens]
    },
    ...changes,
  }
}

/** The services that commands use. */
export interface CommandServices {
  readonly storage: ProfileStorage
  /** In the order of the menu; they are loaded on first use. */
  readonly panels: () => Promise<readonly ProfilePanel[]>
  readonly assets: Assets
  readonly routes: RouteCollection
  /** The order for the servers of the application to sample a request. */
  readonly armFile: ArmFile
  readonly inspector: Inspector
  readonly replayer: Replayer
  /** Boots the application for requests; most commands do not need that. */
  readonly boot: () => void
  readonly view: View
  readonly logger: Logger
  readonly explainers: readonly Explainer[]
}
