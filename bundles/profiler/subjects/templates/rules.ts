import type { FindingRule, RuleFinding } from '../../../../kernel/contracts/collectors.ts'
import { formatDuration } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import { type Render, readRenders } from './read.ts'

/** Limit of `repeated-template`: renders in a row. Lists of fewer items are usual on a page. */
const leastCount = 50

/** Limit of `repeated-template`: ms of these renders together. A long list of fast ones is no problem. */
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
  measure: {
    unit: 'renders',
    read: ({ values }, profile) => readRenders(profile).all.filter(({ name }) => name === values?.template).length,
    total: profile => readRenders(profile).all.length,
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
