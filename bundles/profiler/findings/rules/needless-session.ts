import type { FindingRule } from '../../../../kernel/profiler-contract.ts'
import { formatCount } from '../../format/format-count.ts'
import type { Profile } from '../../profile.ts'
import { asNumber, asObject, asObjects, asText, asTexts } from '../../reading/read-soft.ts'

/** Whoever calls them means to change something, now or for the next page. */
const changing: ReadonlySet<string> = new Set(['set', 'delete', 'clear', 'flash', 'regenerate', 'invalidate'])

/** Finds sessions that were begun for a client that has none, and left empty. */
export const needlessSessionRule: FindingRule<Profile> = {
  name: 'needless-session',
  title: 'Session begun for nothing',
  find({ data, summary }) {
    const { attributes, flashes, metadata, uses } = asObject(data.session)
    const known = asObjects(uses)
    // One that was there before may have been read.
    const isNew = asNumber(asObject(metadata).createdAt) >= asNumber(summary.time)
    const isEmpty = [attributes, flashes].every(entries => Object.keys(asObject(entries)).length === 0)
    const isRead = known.length > 0 && !known.some(({ method }) => changing.has(asText(method)))
    if (metadata === undefined || !isNew || !isEmpty || !isRead) return []
    const [first = ''] = asTexts(known[0]?.trace)
    return [
      {
        // A page that asks who is logged in cannot do otherwise.
        severity: 'info',
        problem: `The session was used (${formatCount(known.length, 'time')}, first {place}), though the client has none and nothing was put into it.`,
        values: { place: first || 'by an unknown caller' },
        advice: 'Use the session only where it is needed: a response that depends on one is kept in no cache.',
        place: { panel: 'request', anchor: 'session' },
        evidence: { count: known.length },
      },
    ]
  },
}
