import type { FindingRule } from '../../../../kernel/contracts/collectors.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { formatCount } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'

/** The most paths that the sentence names. */
const namedPaths = 3

/** Finds pages that refer to files that do not exist. */
export const missingAssetRule: FindingRule<Profile> = {
  name: 'missing-asset',
  title: 'Missing file',
  // The browser requests the files of the page, which a replay does not.
  isRepeatable: false,
  find(profile) {
    const { paths } = profile.collectors.missing ?? { paths: [] }
    if (paths.length === 0) return []
    const named = paths.slice(0, namedPaths)
    const names = named.map((_, index) => `{path-${index}}`).join(', ')
    const others = paths.length - named.length
    return [
      {
        severity: 'warning',
        problem: `The page refers to ${formatCount(paths.length, 'file')} that ${paths.length === 1 ? 'does' : 'do'} not exist: ${names}${others === 0 ? '' : ` and ${others} more`}.`,
        values: { ...Object.fromEntries(named.map((path, index) => [`path-${index}`, path])) },
        ...(readEventTree(profile).isOfServer
          ? { advice: 'Correct the address in the page, or add the file.', place: { panel: 'request' } }
          : {
              advice: 'Correct the address in the template, or add the file to the assets of its bundle.',
              place: { panel: 'templates' },
            }),
        evidence: { count: paths.length },
      },
    ]
  },
}
