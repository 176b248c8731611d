import { isSafe } from '../../../../lib/http/request-target.ts'
import { readExceptions } from '../../profile/exceptions.ts'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  readHeader,
  shorten,
  toOneLine,
} from '../../profile/format.ts'
import type { Outcome, Profile, ProfileSummary } from '../../profile/profile.ts'
import { findMedian } from '../durations.ts'
import { type Finding, splitSentence, writeProblem } from '../findings/finding.ts'
import type { Inspector } from '../findings/inspector.ts'
import type { Repeated } from './replay.ts'

/** A flaw of a request that a replay verifies: its exception, or one of its findings. */
export interface Flaw {
  /** `exception`, or the rule of the finding and its number among the findings of the rule: `repeated-queries.0`. */
  readonly id: string
  /** The class of the exception, or the title of the finding. */
  readonly title: string
  /** `undefined` for the exception. */
  readonly finding: Finding | undefined
}

/** The verdict on a flaw after a replay. */
export interface FixVerdict {
  /**
   * `doubtful`: fixed, but the text names a difference that may be the reason. `failing`: the page fails in another way than before,
   * so the flaw cannot be judged. `unsure`: the flaw cannot be judged, because the replay had no cookie or no credentials, or because a
   * replay does not show it.
   */
  readonly state: 'fixed' | 'doubtful' | 'present' | 'failing' | 'unsure'
  /** Such as `Fixed: 51 queries → 2, request 109.0 ms → 30.0 ms`. */
  readonly text: string
}

/** Whether a flaw is gone. */
export function isFixed({ state }: Pick<FixVerdict, 'state'>): boolean {
  return state === 'fixed' || state === 'doubtful'
}

/** Profiles of one version of the code, the newest first. */
export type Versions = readonly [Profile, ...Profile[]]

/** The methods of the inspector that a verdict needs. */
export type Judge = Pick<Inspector, 'inspect' | 'isRepeatable' | 'measure'>

/** The number of measurements of a time: the median of three leaves out an unusual one. */
export const timedCount = 3

/** The least decrease, as a part of the amount before: a smaller one may be chance, or one item of many. */
const leastDecrease = 0.2

/** Lists the flaws of a profile: the exception first, then the findings. */
export function listFlaws({ summary }: Profile, findings: readonly Finding[]): readonly Flaw[] {
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

/** Whether a finding is about a time, which differs in each request. */
export function isTimed(finding: Finding, profile: Profile, judge: Judge): boolean {
  return judge.measure(finding, profile)?.unit === 'ms'
}

/** Whether a profile has a finding: the same recorded values of the same rule, whatever their line. */
export function hasFinding(finding: Finding, profile: Profile, judge: Judge): boolean {
  return findOfRule(finding, profile, judge).some(other => nameOf(other) === nameOf(finding))
}

/**
 * Judges whether a flaw of `before` is gone in `after`: of a replay, or since an edit. A page that now fails is never fixed.
 * An exception is fixed if the page succeeds. A finding is fixed if its rule no longer finds it, and if its amount, the median
 * of all profiles, is clearly less than before.
 */
export function judgeFix({ finding }: Flaw, before: Versions, after: Versions, judge: Judge): FixVerdict {
  const [original] = before
  for (const profile of after) {
    const failure = findFailure(original, profile)
    if (failure !== undefined) return failure
  }
  if (finding === undefined) return judgeEnding(original, after, judge)
  const amounts = measure(finding, before, after, judge)
  const remains = findRemains(finding, amounts, before, after, judge)
  const changes = describeChanges(before, after, amounts?.unit)
  const facts = [...(amounts === undefined ? [] : [formatAmounts(amounts).join(' → ')]), ...changes].join(', ')
  if (remains !== undefined) return { state: 'present', text: `${remains}: ${facts}` }
  if (!judge.isRepeatable(finding))
    return { state: 'unsure', text: `Not comparable, a replay does not show it: ${facts}` }
  const isOnce = amounts?.unit === 'ms' && after.length < timedCount
  return toFixed(
    [...listCautions(original, after, judge), ...(isOnce ? ['the time was measured only once'] : [])],
    facts,
  )
}

/** The verdicts on the flaws of a request. */
export interface Verification {
  readonly verdicts: readonly (Pick<Flaw, 'id' | 'title'> & FixVerdict)[]
  /** The replays, the newest first. */
  readonly replays: Versions
}

/**
 * Replays a request and judges its flaws: once, and three times if a flaw can be measured and the request changes no data. A page
 * that fails is not replayed again.
 */
export async function verifyFlaws(
  original: Profile,
  flaws: readonly Flaw[],
  judge: Judge,
  repeat: () => Promise<Repeated>,
): Promise<Verification | { readonly problem: string }> {
  const isMeasured = flaws.some(({ finding }) => finding && judge.measure(finding, original) !== undefined)
  const count = isMeasured && isSafe(original.summary.method) ? timedCount : 1
  const replays: Profile[] = []
  for (;;) {
    const result = await repeat()
    if ('problem' in result) return result
    const versions: Versions = [result.profile, ...replays]
    const verdicts = flaws.map(flaw => ({
      id: flaw.id,
      title: flaw.title,
      ...judgeFix(flaw, [original], versions, judge),
    }))
    const isOver = verdicts.some(({ state }) => state === 'failing' || state === 'unsure')
    if (isOver || versions.length >= count) return { verdicts, replays: versions }
    replays.unshift(result.profile)
  }
}

const nameLimit = 40

/**
 * Writes what a verdict is about as a table: the amount of exactly this flaw, and the duration, before and in each replay.
 */
export function writeProof({ finding }: Flaw, original: Profile, replays: Versions, judge: Judge): string {
  const inOrder = [original, ...replays.toReversed()]
  const amounts = inOrder.flatMap(profile => (finding && judge.measure(finding, profile)) ?? [])
  const values = amounts.map(({ unit, value }, index) =>
    unit === 'ms' ? formatDuration(value) : `${formatNumber(value)}${index === 0 ? ` ${unit}` : ''}`,
  )
  const name = finding && (splitSentence('problem', finding).find(({ isValue }) => isValue)?.text ?? finding.title)
  const rows = [
    ['', 'Before', ...replays.map((_, index) => `Replay ${index + 1}`)],
    ...(name === undefined || values.length === 0 ? [] : [[shorten(toOneLine(name), nameLimit), ...values]]),
    ['Request', ...inOrder.map(({ summary }) => formatDuration(summary.duration))],
  ]
  const widthOf = (column: number) => Math.max(...rows.map(row => row[column]?.length ?? 0))
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widthOf(column)) : cell.padStart(widthOf(column))
  return rows.map(row => row.map(pad).join('  ')).join('\n')
}

function toFixed(cautions: readonly string[], facts: string): FixVerdict {
  return cautions.length === 0
    ? { state: 'fixed', text: `Fixed: ${facts}` }
    : { state: 'doubtful', text: `Fixed, but ${cautions.join(', and ')}: ${facts}` }
}

/** Judges an exception; each replay has ended as before, or without a failure. The exception is still there if one of them fails. */
function judgeEnding(original: Profile, after: Versions, judge: Judge): FixVerdict {
  const failed = after.find(({ summary }) => isFailure(summary))
  const facts = describeChanges([original], [failed ?? after[0]]).join(', ')
  if (failed !== undefined) return { state: 'present', text: `Still there, ${describeEnding(failed)}: ${facts}` }
  return toFixed(listCautions(original, after, judge), facts)
}

/** Outcomes of requests that have failed after their status was sent. A client that has left is no failure. */
const failures: Readonly<Partial<Record<Outcome, string>>> = {
  'stream-failed': 'the stream broke off',
  crashed: 'the process has ended',
}

/** Whether a request has not succeeded. */
export function isFailure({ exception, outcome, status }: ProfileSummary): boolean {
  return exception !== null || status === 0 || status >= 400 || outcome in failures
}

/** The kind of a status. A 304 is a success: the client had the page already. */
function classOf({ summary: { status } }: Profile): number {
  return status === 304 ? 2 : Math.floor(status / 100)
}

/**
 * The verdict that a page fails otherwise than before, or may have refused a replay without the cookie or the credentials;
 * `undefined` if it ended as before, or succeeds after a failure.
 */
function findFailure(original: Profile, replay: Profile): FixVerdict | undefined {
  const [old, now] = [original.summary, replay.summary]
  const isOther = now.exception !== old.exception || classOf(original) !== classOf(replay)
  const isBroken = now.outcome in failures && now.outcome !== old.outcome
  const isNew = isFailure(now) ? isOther || isBroken : !isFailure(old) && isOther
  const missing = listMissing(original, replay)
  const hasRefusal = classOf(replay) === 3 || now.status === 401 || now.status === 403
  const isRefused = missing !== '' && hasRefusal && (isNew || describeStatus(original) !== describeStatus(replay))
  if (!isNew && !isRefused) return undefined
  const instead = isFailure(old) ? '' : ` instead of ${describeStatus(original)}`
  const text = `${describeEnding(replay)}${now.status === old.status ? '' : instead}`
  return isRefused
    ? { state: 'unsure', text: `Not comparable, the replay had no header ${missing}: ${text}` }
    : { state: 'failing', text: `The page ${isFailure(old) ? 'still' : 'now'} fails: ${text}` }
}

const textLimit = 120

/** How a request has ended, such as `TypeError: x is not a function, status 500`. */
function describeEnding(profile: Profile): string {
  const { exception, outcome } = profile.summary
  const error = readExceptions(profile).find(({ name }) => name === exception)
  const message = toOneLine(error?.message ?? '')
  const thrown = [exception, message].filter(part => part !== '').join(': ')
  const broken = failures[outcome]
  return [
    ...(exception === null ? [] : [shorten(thrown, textLimit)]),
    describeStatus(profile),
    ...(broken === undefined ? [] : [broken]),
  ].join(', ')
}

function describeStatus(profile: Profile): string {
  const { status } = profile.summary
  if (status === 0) return 'no response'
  const location = locationOf(profile)
  return location === undefined ? `status ${status}` : `status ${status} to ${shorten(location, textLimit)}`
}

function locationOf({ collectors, summary }: Profile): string | undefined {
  return summary.status === 304 ? undefined : readHeader(collectors.response, 'location')[0]
}

/** The headers that identify the client and that only the original request had, such as `cookie and authorization`. */
function listMissing({ collectors: original }: Profile, { collectors: replay }: Profile): string {
  const has = ({ request }: Profile['collectors'], name: string) => readHeader(request, name).length > 0
  return ['cookie', 'authorization'].filter(name => has(original, name) && !has(replay, name)).join(' and ')
}

/** Lists the differences of a page that succeeds from the original; of several replays, those of the replay with the most. */
function listCautions(original: Profile, after: Versions, judge: Judge): readonly string[] {
  const all = after.map(replay => listDifferences(original, replay, judge))
  return all.reduce((worst, cautions) => (cautions.length > worst.length ? cautions : worst))
}

function listDifferences(original: Profile, replay: Profile, judge: Judge): readonly string[] {
  const [location, target] = [locationOf(original), locationOf(replay)]
  const missing = listMissing(original, replay)
  return [
    ...(location === target || target === undefined
      ? []
      : [
          `the response redirects to ${shorten(target, textLimit)}${location === undefined ? '' : ` instead of ${shorten(location, textLimit)}`}`,
        ]),
    ...(isFailure(original.summary) ? [] : listLosses(original, replay, judge)),
    ...(missing === '' ? [] : [`the replay had no header ${missing}`]),
  ]
}

function listLosses(original: Profile, replay: Profile, judge: Judge): string[] {
  const [old, now] = [original.summary, replay.summary]
  const [size, current] = [sizeOf(original), sizeOf(replay)]
  const known = new Set(judge.inspect(original).map(({ rule }) => rule))
  const added = judge
    .inspect(replay)
    .filter(finding => finding.severity !== 'info' && !known.has(finding.rule) && !isTimed(finding, replay, judge))
  return [
    ...(current < size / 2 && old.status !== 304 && now.status !== 304
      ? [`the page is now ${formatBytes(current)} instead of ${formatBytes(size)}`]
      : []),
    ...(now.errors > old.errors ? [`it logs ${formatCount(now.errors - old.errors, 'more error')}`] : []),
    ...new Set(added.map(({ title }) => `there is a new finding, ${title}`)),
  ]
}

/** The bytes of a page without the toolbar. A body of unknown size is not compared. */
function sizeOf({ collectors: { response } }: Profile): number {
  return response?.content?.length ?? response?.size ?? Number.NaN
}

/** The medians of what a finding measures. */
interface Amounts {
  readonly unit: string
  readonly before: number
  readonly after: number
}

function measure(finding: Finding, before: Versions, after: Versions, judge: Judge): Amounts | undefined {
  const unit = judge.measure(finding, before[0])?.unit
  const read = (profiles: Versions) =>
    findMedian(profiles.flatMap(profile => judge.measure(finding, profile)?.value ?? []))
  return unit === undefined ? undefined : { unit, before: read(before), after: read(after) }
}

/** Writes how much of a finding there was before and is after; `undefined` if its rule does not measure it. */
export function describeAmounts(
  finding: Finding,
  before: Versions,
  after: Versions,
  judge: Judge,
): readonly [before: string, after: string] | undefined {
  const amounts = measure(finding, before, after, judge)
  return amounts && formatAmounts(amounts)
}

function formatAmounts({ after, before, unit }: Amounts): readonly [before: string, after: string] {
  return unit === 'ms'
    ? [formatDuration(before), formatDuration(after)]
    : [`${formatNumber(before)} ${unit}`, formatNumber(after)]
}

/** How a finding is still there; `undefined` if it is gone. If as many findings of the rule as before are left, it has only changed. */
function findRemains(
  finding: Finding,
  amounts: Amounts | undefined,
  before: Versions,
  after: Versions,
  judge: Judge,
): string | undefined {
  const isLess = amounts === undefined || amounts.after <= amounts.before * (1 - leastDecrease)
  const isMost = (test: (profile: Profile) => boolean) => after.filter(test).length * 2 > after.length
  if (isMost(profile => hasFinding(finding, profile, judge)))
    return isLess && amounts !== undefined ? 'Less, but still there' : 'Still there'
  const count = findOfRule(finding, before[0], judge).length
  if (isMost(profile => findOfRule(finding, profile, judge).length >= count)) return 'Changed, not fixed'
  return isLess ? undefined : 'Hardly less'
}

function findOfRule({ rule }: Finding, profile: Profile, judge: Judge): readonly Finding[] {
  return judge.inspect(profile).filter(other => other.rule === rule)
}

/** The recorded values in the problem of a finding; without any, the problem without its numbers. Other values are in the advice. */
function nameOf(finding: Finding): string {
  const values = splitSentence('problem', finding).filter(({ isValue }) => isValue)
  return values.length > 0 ? JSON.stringify(values) : writeProblem(finding).replace(/\d+(?:[.,]\d+)*(?: m?s\b)?/g, '')
}

/** Describes the changes between the newest requests, without the count with the noun `unit`. */
function describeChanges(before: Versions, after: Versions, unit = ''): string[] {
  const [old, now] = [before[0].summary, after[0].summary]
  const count = (first: number, second: number, one: string, many = `${one}s`) =>
    first === second || many === unit ? [] : [`${formatCount(first, one, many)} → ${formatNumber(second)}`]
  const [duration, current] = [before, after].map(profiles =>
    formatDuration(findMedian(profiles.map(({ summary }) => summary.duration))),
  )
  return [
    ...(old.status === now.status ? [] : [`${old.status || 'no response'} → ${now.status || 'no response'}`]),
    ...count(old.queries, now.queries, 'query', 'queries'),
    ...count(old.calls, now.calls, 'HTTP client call'),
    `request ${duration} → ${current}`,
  ]
}
