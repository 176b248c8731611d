import type { FindingRule } from '../../../../kernel/contracts/collectors.ts'
import { describePlaces } from '../../insight/findings/finding.ts'
import { formatNumber } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { readPrinted } from './read.ts'

/** Limit of `many-console-calls`: calls that are not too many. As of messages of the log. */
const mostCalls = 100

/** Finds requests that wrote too much by the functions of the console. Values of `dump` are looked at on purpose. */
export const manyConsoleCallsRule: FindingRule<Profile> = {
  name: 'many-console-calls',
  title: 'Many calls of the console',
  find(profile) {
    const { count, entries } = readPrinted(profile)
    if (count <= mostCalls) return []
    const [first] = entries.slice(mostCalls)
    const located = first?.site === undefined ? [] : [{ caller: first.site }]
    return [
      {
        severity: 'warning',
        problem: `The request called the functions of the console ${formatNumber(count)} times.`,
        ...describePlaces(
          located,
          {},
          'Write once for all items: a process waits until its terminal or file has taken the text',
        ),
        place: { panel: 'console' },
        evidence: { count },
      },
    ]
  },
  measure: { unit: 'console calls', read: (_, profile) => readPrinted(profile).count },
}
