import { describeUnseen, type UnseenLibrary } from '../../../kernel/contracts/unseen-libraries.ts'
import type { Profile } from './profile.ts'

/** The panels that would show the work of a library. */
const panels: Readonly<Record<UnseenLibrary['work'], string>> = {
  queries: 'database',
  commands: 'cache',
  resolvers: 'graphql',
  mails: 'mails',
}

/**
 * Describes the libraries that the application has loaded, and whose work is not seen: those of a panel, or all. A page
 * must not say "none" beside them.
 */
export function listUnseen({ process }: Pick<Profile, 'process'>, panel?: string): readonly string[] {
  const unseen = process.queries?.unseen ?? []
  return unseen.filter(({ work }) => panel === undefined || panels[work] === panel).map(describeUnseen)
}
