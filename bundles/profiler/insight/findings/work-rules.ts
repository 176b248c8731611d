import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { formatCount, formatDuration } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import { type Render, readRenders } from '../../profile/renders.ts'

/** Lists of fewer items are usual on a page. */
const leastCount = 50

/** Milliseconds. A fast partial takes microseconds, so a long list of them is no problem. */
const leastTime = 20

/** Finds templates that were rendered in a loop and took notable time together. */
export const repeatedTemplateRule: FindingRule<Profile> = {
  name: 'repeated-template',
  title: 'Template rendered many times',
  find(profile) {
    const { all, pages } = readRenders(profile)
    return [pages, ...all.map(({ partials }) => partials)].flatMap(siblings =>
      [...groupBy(siblings, ({ name }) => name)].flatMap(([name, renders]) => describe(name, renders)),
    )
  },
}

function describe(name: string, renders: readonly Render[]): RuleFinding[] {
  const time = renders.reduce((sum, { duration }) => sum + duration, 0)
  if (renders.length < leastCount || time < leastTime) return []
  return [
    {
      severity: 'warning',
      problem: `{template} was rendered ${renders.length} times in a row, ${formatDuration(time)} in total.`,
      values: { template: name },
      advice: 'Compute the results of its helpers once, in the controller, or show fewer items.',
      place: { panel: 'templates', anchor: `render-${renders[0]?.index}` },
      evidence: { count: renders.length, time },
    },
  ]
}

/** Methods of the session that change it. */
const changing: ReadonlySet<string> = new Set(['set', 'delete', 'clear', 'flash', 'regenerate', 'invalidate'])

/** Finds sessions that were started for a client without one, and remained empty. */
export const needlessSessionRule: FindingRule<Profile> = {
  name: 'needless-session',
  title: 'Unneeded session',
  find({ collectors, summary }) {
    const { attributes = {}, flashes = {}, metadata, uses = [] } = collectors.session ?? {}
    // An existing session may have been read for its content.
    const isNew = metadata !== undefined && metadata.createdAt >= summary.time
    const isEmpty = [attributes, flashes].every(entries => Object.keys(entries).length === 0)
    const isRead = uses.length > 0 && !uses.some(({ method }) => changing.has(method))
    if (!isNew || !isEmpty || !isRead) return []
    const [first = ''] = uses.flatMap(({ trace }) => trace)
    return [
      {
        // The page is right; only caches cannot store it.
        severity: 'info',
        problem: `The session was used (${formatCount(uses.length, 'time')}, first {place}), but the client has none and nothing was stored in it.`,
        values: { place: first || 'by an unknown caller' },
        advice: 'Use the session only where it is needed: no cache stores a response that depends on a session.',
        place: { panel: 'request', anchor: 'session' },
        evidence: { count: uses.length },
      },
    ]
  },
}
