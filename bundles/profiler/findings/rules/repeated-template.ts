import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { formatDuration } from '../../format/format-duration.ts'
import { groupBy } from '../../panels/group-by.ts'
import type { Profile } from '../../profile.ts'
import { type Render, readRenders } from '../../reading/read-renders.ts'

/** A list of fewer items is a page's daily work. */
const leastCount = 50

/** Milliseconds; a partial takes some microseconds, and a long list of such is no flaw. */
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
      problem: `{template} was rendered ${renders.length} times in a row, which took ${formatDuration(time)}.`,
      values: { template: name },
      advice: 'Prepare in the controller what its helpers compute each time, or show fewer items at once.',
      place: { panel: 'templates', anchor: `render-${renders[0]?.index}` },
      evidence: { count: renders.length, time },
    },
  ]
}
