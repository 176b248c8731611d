import { formatCount, formatDuration, formatNumber } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { type Finding, writeProblem } from '../findings/finding.ts'

/** A profile with its findings. */
export interface Judged {
  readonly profile: Profile
  readonly findings: readonly Finding[]
}

/** A flaw of a request that a replay verifies: its exception, or one of its findings. */
export interface Flaw {
  /** `exception`, or the rule of the finding and its number among the findings of the rule: `repeated-queries.0`. */
  readonly id: string
  /** The class of the exception, or the title of the finding. */
  readonly title: string
  /** `undefined` for the exception. */
  readonly finding: Finding | undefined
}

/** Whether a flaw is gone after a replay. */
export interface FixVerdict {
  readonly isFixed: boolean
  /** Such as `Fixed: 51 queries → 2, 109.0 ms → 30.0 ms`. */
  readonly text: string
}

/** Lists the flaws of a profile: the exception first, then the findings. */
export function listFlaws({ findings, profile: { summary } }: Judged): readonly Flaw[] {
  const { exception } = summary
  return [
    ...(exception === null ? [] : [{ id: 'exception', title: exception, finding: undefined }]),
    ...findings.map(finding => ({ id: idOf(finding, findings), title: finding.title, finding })),
  ]
}

/** The id of the flaw of a finding; `findings` are all of its profile. */
export function idOf(finding: Finding, findings: readonly Finding[]): string {
  return `${finding.rule}.${findings.filter(({ rule }) => rule === finding.rule).indexOf(finding)}`
}

/** Judges whether a flaw of a request is gone in its replay. */
export function judgeFix({ finding }: Flaw, before: Judged, after: Judged): FixVerdict {
  const reason = finding === undefined ? findFailure(after) : findRemains(finding, before, after)
  const facts = describeChanges(before, after)
  return reason === undefined
    ? { isFixed: true, text: `Fixed: ${facts}` }
    : { isFixed: false, text: `${reason}: ${facts}` }
}

/** How the replay has failed; `undefined` if it has not. */
function findFailure({ profile: { summary } }: Judged): string | undefined {
  const { exception, status } = summary
  if (exception === null) return status === 0 || status >= 500 ? 'Still there' : undefined
  return `Still there, ${exception}`
}

/**
 * How a finding is still there; `undefined` if it is gone. It is the same if its recorded values are, whatever their line.
 * If as many findings of the rule as before are left, it has only changed.
 */
function findRemains(finding: Finding, before: Judged, after: Judged): string | undefined {
  const ofRule = ({ findings }: Judged) => findings.filter(({ rule }) => rule === finding.rule)
  const left = ofRule(after)
  const isLeft = left.some(other => nameOf(other) === nameOf(finding))
  if (isLeft) return 'Still there'
  return left.length < ofRule(before).length ? undefined : 'Changed, not fixed'
}

/** The recorded values of a finding, without its lines; without any, the problem without its numbers. */
function nameOf(finding: Finding): string {
  const values = Object.entries(finding.values ?? {}).filter(([name]) => !name.startsWith('place-'))
  return values.length > 0 ? JSON.stringify(values) : writeProblem(finding).replace(/\d+(?:[.,]\d+)*/g, '')
}

function describeChanges({ profile: before }: Judged, { profile: after }: Judged): string {
  const [old, now] = [before.summary, after.summary]
  const count = (first: number, second: number, one: string, many?: string) =>
    first === second ? [] : [`${formatCount(first, one, many)} → ${formatNumber(second)}`]
  return [
    ...(old.status === now.status ? [] : [`${old.status || 'no response'} → ${now.status || 'no response'}`]),
    ...count(old.queries, now.queries, 'query', 'queries'),
    ...count(old.calls, now.calls, 'HTTP client call'),
    `${formatDuration(old.duration)} → ${formatDuration(now.duration)}`,
  ].join(', ')
}
