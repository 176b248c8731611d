import type { FindingPlace, FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { formatDuration } from '../../format/format-duration.ts'
import { groupBy } from '../../panels/group-by.ts'
import type { Profile } from '../../profile.ts'
import { asNumber, asObject, asObjects, asText } from '../../reading/read-soft.ts'

/**
 * Milliseconds of CPU time at a stretch: all others wait so long, and notice it. What a process does only once, such as
 * loading the code of its first error page, takes half of that.
 */
const leastBlock = 200

/** Finds out that nothing else could be answered for a while, and who was at work. */
export const blockedLoopRule: FindingRule<Profile> = {
  name: 'blocked-loop',
  title: 'Event loop blocked',
  find(profile) {
    const blocks = asObjects(asObject(profile.data.memory).blocks)
      .map(({ by, cpu, start }) => ({ by: asText(by), time: asNumber(cpu), start: asNumber(start) }))
      .filter(({ time }) => time >= leastBlock)
    return [...groupBy(blocks, ({ by }) => by)].map(([by, blocks]) => {
      const time = blocks.reduce((sum, { time }) => sum + time, 0)
      return { ...describe(by, profile.summary.token, formatDuration(time)), evidence: { count: blocks.length, time } }
    })
  },
}

type Description = Omit<RuleFinding, 'evidence'>

function describe(by: string, token: string, time: string): Description {
  const advice = 'Give the work to a worker thread, do it in parts, or find a way to do less of it.'
  const place: FindingPlace = { panel: 'time' }
  if (by === token)
    return { severity: 'warning', problem: `This request kept the process busy for ${time}.`, advice, place }
  if (by === '')
    return {
      severity: 'warning',
      problem: `The process was busy for ${time} with something that has left no trace.`,
      advice,
      place,
    }
  return {
    severity: 'warning',
    problem: `It had to wait while the process was busy with another request, {token}, for ${time}.`,
    values: { token: by },
    advice: 'Look at that one: it kept all others waiting.',
    place: { ...place, token: by },
  }
}
