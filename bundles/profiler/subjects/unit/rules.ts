import type { FindingRule } from '../../../../kernel/contracts/collectors.ts'
import { findThrowPlace } from '../../profile/exceptions.ts'
import { formatDuration, formatNumber } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'

/** Finds a job that has failed for the last time. */
export const failedJobRule: FindingRule<Profile> = {
  name: 'failed-job',
  title: 'Job is not tried again',
  find(profile) {
    const { attempt, attempts } = profile.collectors.unit?.job ?? {}
    const isLast = attempt !== undefined && attempts !== undefined && attempt >= attempts
    if (profile.summary.outcome !== 'failed' || !isLast) return []
    const { file, line } = findThrowPlace(profile) ?? {}
    const all = attempts === 1 ? 'its only attempt' : `all ${formatNumber(attempts)} attempts`
    return [
      {
        severity: 'error',
        problem: `The job failed in ${all}: its queue does not try it again.`,
        advice: 'Correct the cause, and add the job again.',
        ...(file !== undefined && line !== undefined && { code: { file, line } }),
        place: { panel: 'exception' },
        evidence: { attempts },
      },
    ]
  },
}

/** Limit of `waiting-job`: ms in the queue. Workers that ask the database for jobs do so each few seconds. */
const leastWait = 5000

/** Finds a job that has waited for longer than it has worked. */
export const waitingJobRule: FindingRule<Profile> = {
  name: 'waiting-job',
  title: 'Job waited longer than it worked',
  find(profile) {
    const { waited = 0 } = profile.collectors.unit?.job ?? {}
    const { duration } = profile.summary
    if (waited < leastWait || waited <= duration) return []
    return [
      {
        severity: 'info',
        problem: `The job waited ${formatDuration(waited)} in its queue, and worked ${formatDuration(duration)}.`,
        advice:
          'If its workers were busy, run more of them, or more jobs of each at once. If none was running, start one.',
        place: { panel: 'unit' },
        evidence: { waited, duration },
      },
    ]
  },
}

/** Limit of `repeated-job`: jobs with the same data in a minute. Two may be meant. */
const leastSame = 3

/** Finds a job that other jobs have done just before. */
export const repeatedJobRule: FindingRule<Profile> = {
  name: 'repeated-job',
  title: 'Job repeated',
  find(profile) {
    const count = profile.collectors.unit?.sameJobs ?? 1
    if (count < leastSame) return []
    return [
      {
        severity: 'warning',
        problem: `${formatNumber(count)} jobs of this name began with the same data within a minute.`,
        advice: 'If one of them is enough, give equal jobs one key or id, by which their queue adds only one.',
        place: { panel: 'unit' },
        evidence: { count },
      },
    ]
  },
}
