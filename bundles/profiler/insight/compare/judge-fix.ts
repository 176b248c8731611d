import { isSafe } from '../../../../lib/http/request-target.ts'
import { findFirst } from '../../../../lib/share.ts'
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
import { type Outcome, type Profile, type ProfileSummary, readCount, summaryCounts } from '../../profile/profile.ts'
import { unitOf } from '../../profile/units.ts'
import { totalOf } from '../../profile/work.ts'
import { listOwnBlocks } from '../../subjects/memory/read.ts'
import { awaitedWork } from '../../subjects/work.ts'
import { findMedian } from '../durations.ts'
import { type Finding, splitSentence, writeProblem } from '../findings/finding.ts'
import type { Inspector } from '../findings/inspector.ts'
import type { Repeating } from '../replay/replay.ts'

/** A flaw of a request that a replay verifies: its exception, or one of its findings. */
interface Flaw {
  /** `exception`, or the rule of the finding and its number among the findings of the rule: `repeated-queries.0`. */
  readonly id: string
  /** The class of the exception, or the title of the finding. */
  readonly title: string
  /** `undefined` for the exception. */
  readonly finding: Finding | undefined
}

/** The verdict on a flaw in another version of the code. */
export interface FixVerdict {
  /**
   * `doubtful`: fixed, but the text names a difference that may be the reason. `moved`: its work
   * is done after the response. `changed`: its work is done in another form, or there is a new
   * finding. `failing`: the page fails in another way than before. `unsure`: it is not known,
   * because the replay had no cookie or no credentials, or because a replay does not show it.
   */
  readonly state: 'fixed' | 'doubtful' | 'moved' | 'changed' | 'present' | 'failing' | 'unsure'
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
 * Judges whether a flaw of `before` is gone in `after`: in replays, or in requests since an edit.
 * A page that now fails is never fixed. An exception is fixed if the page succeeds. A finding is
 * fixed if in each profile its rule no longer finds it, its amount is clearly less than before,
 * all work of its kind is less by as much, and no other finding is new.
 */
export function judgeFix({ finding }: Flaw, before: Versions, after: Versions, judge: Judge): FixVerdict {
  const [original] = before
  const failure = findFirst(after, profile => findFailure(original, profile))
  if (failure !== undefined) return failure
  if (finding === undefined) return judgeEnding(original, after, judge)
  const amounts = measure(finding, before, after, judge)
  const changes = describeChanges(before, after, amounts?.unit)
  const facts = [...(amounts === undefined ? [] : [formatAmounts(amounts).join(' → ')]), ...changes].join(', ')
  const remains = findRemains(finding, before, after, judge)
  if (remains !== undefined) return { ...remains, text: `${remains.text}: ${facts}` }
  if (!judge.isRepeatable(finding)) return { state: 'unsure', text: `Not known, a replay does not show it: ${facts}` }
  const isOnce = amounts?.unit === 'ms' && after.length < timedCount
  const cautions = [...(isOnce ? ['the time was measured only once'] : []), ...listDelays(finding, before, after)]
  return toFixed([...listCautions(original, after), ...cautions], facts)
}

/** The verdicts on the flaws of a request. */
interface Verification {
  readonly verdicts: readonly (Pick<Flaw, 'id' | 'title'> & FixVerdict)[]
  /** The replays, the newest first. */
  readonly replays: Versions
}

/**
 * Replays a request and judges its flaws: three times, or once if the request may change data. A
 * page that fails is not replayed again.
 */
export async function verifyFlaws(
  original: Profile,
  flaws: readonly Flaw[],
  judge: Judge,
  { complete, repeat }: Repeating,
): Promise<Verification | { readonly problem: string }> {
  const count = isSafe(original.summary.method) ? timedCount : 1
  const replays: Profile[] = []
  for (;;) {
    const result = await repeat()
    if ('problem' in result) return result
    const versions: Versions = [result.profile, ...replays]
    const isOver = versions.length >= count || findFailure(original, result.profile) !== undefined
    if (!isOver) {
      replays.unshift(result.profile)
      continue
    }
    const [before, completed] = [await complete([original]), await complete(versions)]
    const verdicts = flaws.map(flaw => ({
      id: flaw.id,
      title: flaw.title,
      ...judgeFix(flaw, before, completed, judge),
    }))
    return { verdicts, replays: completed }
  }
}

/**
 * Writes what a verdict is about: a line for the original and for each replay, with the amount of
 * exactly this flaw and the duration.
 */
export function writeProof({ finding }: Flaw, original: Profile, replays: Versions, judge: Judge): string {
  const inOrder = [original, ...replays.toReversed()]
  const rows = inOrder.map((profile, index) => {
    const { unit = '', value } = (finding && judge.measure(finding, profile)) ?? {}
    const counted = unit === 'ms' ? formatDuration(value ?? 0) : `${formatNumber(value ?? 0)} ${unit}`
    const name = index === 0 ? 'Before' : `Replay ${index}`
    return [name, ...(value === undefined ? [] : [counted]), formatDuration(profile.summary.duration)]
  })
  const widthOf = (column: number) => Math.max(...rows.map(row => row[column]?.length ?? 0))
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widthOf(column)) : cell.padStart(widthOf(column))
  const name = finding && (splitSentence('problem', finding).find(({ isValue }) => isValue)?.text ?? finding.title)
  const lines = rows.map(row => row.map(pad).join('  '))
  return [...(name === undefined ? [] : [shorten(toOneLine(name), textLimit)]), ...lines].join('\n')
}

function toFixed(cautions: readonly string[], facts: string): FixVerdict {
  return cautions.length === 0
    ? { state: 'fixed', text: `Fixed: ${facts}` }
    : { state: 'doubtful', text: `Fixed, but ${cautions.join(', and ')}: ${facts}` }
}

/**
 * Judges an exception; each replay has ended as before, or without a failure. The exception is
 * still there if one of them fails.
 */
function judgeEnding(original: Profile, after: Versions, judge: Judge): FixVerdict {
  const failed = after.find(({ summary }) => isFailure(summary))
  const facts = describeChanges([original], [failed ?? after[0]]).join(', ')
  if (failed !== undefined) return { state: 'present', text: `Still there, ${describeEnding(failed)}: ${facts}` }
  const added = nameAdded(findAdded([original], after, judge))
  if (added !== '') return { state: 'changed', text: `Changed its form, ${added}: ${facts}` }
  return toFixed(listCautions(original, after), facts)
}

/**
 * Outcomes of requests that have failed after their status was sent, and of other work. A client
 * that has left is no failure.
 */
const failures: Readonly<Partial<Record<Outcome, string>>> = {
  failed: 'failed',
  'stream-failed': 'the stream broke off',
  crashed: 'the process has ended',
}

/** Whether a request has not succeeded. */
export function isFailure(summary: ProfileSummary): boolean {
  const { exception, outcome, status } = summary
  return exception !== null || (status === 0 && unitOf(summary).isExchange) || status >= 400 || outcome in failures
}

/** The kind of a status. A 304 is a success: the client had the page already. */
function classOf({ summary: { status } }: Profile): number {
  return status === 304 ? 2 : Math.floor(status / 100)
}

/**
 * The verdict that a page fails otherwise than before, or may have refused a replay without the
 * cookie or the credentials; `undefined` if it ended as before, or succeeds after a failure.
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
    ? { state: 'unsure', text: `Not known, the replay had no header ${missing}: ${text}` }
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

/**
 * Lists the differences of a page that succeeds from the original; of several replays, those of
 * the replay with the most.
 */
function listCautions(original: Profile, after: Versions): readonly string[] {
  const all = after.map(replay => listDifferences(original, replay))
  return all.reduce((worst, cautions) => (cautions.length > worst.length ? cautions : worst))
}

function listDifferences(original: Profile, replay: Profile): readonly string[] {
  const [location, target] = [locationOf(original), locationOf(replay)]
  const missing = listMissing(original, replay)
  return [
    ...(location === target || target === undefined
      ? []
      : [
          `the response redirects to ${shorten(target, textLimit)}${location === undefined ? '' : ` instead of ${shorten(location, textLimit)}`}`,
        ]),
    ...(isFailure(original.summary) ? [] : listLosses(original, replay)),
    ...(missing === '' ? [] : [`the replay had no header ${missing}`]),
  ]
}

function listLosses(original: Profile, replay: Profile): string[] {
  const [old, now] = [original.summary, replay.summary]
  const [size, current] = [sizeOf(original), sizeOf(replay)]
  return [
    ...(current < size / 2 && old.status !== 304 && now.status !== 304
      ? [`the page is now ${formatBytes(current)} instead of ${formatBytes(size)}`]
      : []),
    ...(now.errors > old.errors ? [`it logs ${formatCount(now.errors - old.errors, 'more error')}`] : []),
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

/** Why a finding is not fixed; `undefined` if it is. */
function findRemains(finding: Finding, before: Versions, after: Versions, judge: Judge): FixVerdict | undefined {
  const added = findAdded(before, after, judge)
  const isLate =
    after.some(profile => countLate(profile) > Math.max(...before.map(countLate))) ||
    added.some(({ rule }) => rule === 'late-work')
  const count = Math.min(...before.map(profile => findOfRule(finding, profile, judge).length))
  const whole = findMedian(before.flatMap(profile => judge.measure(finding, profile)?.value ?? []))
  const total = findMedian(before.flatMap(profile => judge.measure(finding, profile)?.total ?? []))
  const reasons = after.flatMap(profile => {
    const { total: left = Number.NaN, value = Number.NaN } = judge.measure(finding, profile) ?? {}
    const isLess = !(value > whole * (1 - leastDecrease))
    const isElsewhere = total - left < (whole - value) * (1 - leastDecrease)
    if (hasFinding(finding, profile, judge)) {
      if (!(value < whole && isLess)) return 'Still there'
      return isElsewhere ? 'Still there, a part of it in another form' : 'Less, but still there'
    }
    if (findOfRule(finding, profile, judge).length >= count) return changed
    if (!isLess) return 'Hardly less'
    return isElsewhere ? changed : []
  })
  const [reason] = reasons
  if (isLate && (reason !== undefined || Number.isNaN(total)))
    return { state: 'moved', text: 'Moved behind the response, not fixed' }
  if (reason === changed) return { state: 'changed', text: `${changed}, not fixed` }
  if (reason === undefined && blocksInstead(finding, before, after))
    return { state: 'changed', text: `${changed}, the request blocks the event loop instead` }
  const often = reasons.length < after.length ? ` in ${reasons.length} of ${after.length} replays` : ''
  if (reason !== undefined) return { state: 'present', text: `${reason}${often}` }
  return added.length === 0 ? undefined : { state: 'changed', text: `${changed}, ${nameAdded(added)}` }
}

const changed = 'Changed its form'

/** Whether each profile blocks the event loop for longer than before, by about the time of a finding. */
function blocksInstead({ evidence: { time = 0 } }: Finding, before: Versions, after: Versions): boolean {
  if (time === 0 || after.length < timedCount) return false
  const blocked = (profiles: Versions) => profiles.map(profile => totalOf(listOwnBlocks(profile)))
  const added = Math.min(...blocked(after)) - Math.max(...blocked(before))
  return added > 0 && added >= time * (1 - leastDecrease)
}

/** Milliseconds: a smaller difference may be chance. */
const leastDelay = 50

/** Why a request is not faster without the work of a finding. Cold requests say nothing. */
function listDelays({ evidence: { time = 0 } }: Finding, before: Versions, after: Versions): string[] {
  const [old, now] = [before, after].map(profiles =>
    profiles.filter(({ summary }) => !summary.isCold).map(({ summary }) => summary.duration),
  )
  if (old === undefined || now === undefined || old.length === 0 || now.length === 0) return []
  const [usual, least] = [findMedian(old), Math.min(...now)]
  if (least > usual * (1 + leastDecrease) + leastDelay) return ['the request takes longer']
  // Other work varies by more than a small part of the request. Work at the same time may take longer than it.
  const isMost = time >= leastDelay && time > usual / 2 && time <= usual
  return isMost && least > usual - time * leastDecrease ? ['the request takes as long as before'] : []
}

function nameAdded(added: readonly Finding[]): string {
  const titles = [...new Set(added.map(({ title }) => title))]
  return titles.length === 0 ? '' : `there is a new finding, ${titles.join(' and ')}`
}

/** Queries and calls that began after the response was sent. */
function countLate(profile: Profile): number {
  const isLate = ({ start }: { readonly start: number }) => start > profile.summary.duration
  return awaitedWork.flatMap(({ list }) => list(profile)).filter(isLate).length
}

/**
 * The findings of `after` that no profile of `before` has, not even in another form. A time
 * differs in each request: it counts if it is clearly more in each of at least three.
 */
export function findAdded(before: Versions, after: Versions, judge: Judge): readonly Finding[] {
  const isNew = (finding: Finding, profile: Profile) => {
    if (finding.severity === 'info' || before.some(other => hasFinding(finding, other, judge))) return false
    const most = Math.max(...before.map(other => findOfRule(finding, other, judge).length))
    if (findOfRule(finding, profile, judge).length <= most) return false
    const amounts = measure(finding, after, before, judge)
    if (amounts !== undefined && amounts.after > amounts.before * (1 - leastDecrease)) return false
    if (!isTimed(finding, profile, judge)) return true
    return after.length >= timedCount && after.every(other => hasFinding(finding, other, judge))
  }
  const added = after.flatMap(profile => judge.inspect(profile).filter(finding => isNew(finding, profile)))
  return [...new Map(added.map(finding => [`${finding.rule} ${nameOf(finding)}`, finding])).values()]
}

function findOfRule({ rule }: Finding, profile: Profile, judge: Judge): readonly Finding[] {
  return judge.inspect(profile).filter(other => other.rule === rule)
}

/**
 * The recorded values in the problem of a finding; without any, the problem without its numbers. Other
 * values are in the advice. Those of called requests are left out: their profiles may be missing.
 */
function nameOf(finding: Finding): string {
  const values = Object.entries(finding.values ?? {}).filter(([name]) => !name.startsWith('called-'))
  const own = { ...finding, values: Object.fromEntries(values) }
  const named = splitSentence('problem', own).filter(({ isValue }) => isValue)
  if (named.length > 0) return JSON.stringify(named)
  return writeProblem(own).replace(/ \(\{called-\w+\}\)|\d+(?:[.,]\d+)*(?: m?s\b)?/g, '')
}

/** Describes the changes between the newest requests, without the count with the noun `unit`. */
function describeChanges(before: Versions, after: Versions, unit = ''): string[] {
  const [old, now] = [before[0].summary, after[0].summary]
  const [duration, current] = [before, after].map(profiles =>
    formatDuration(findMedian(profiles.map(({ summary }) => summary.duration))),
  )
  const counts = summaryCounts.filter(
    count =>
      count.part !== undefined &&
      readCount(old, count) !== readCount(now, count) &&
      (count.many ?? `${count.one}s`) !== unit,
  )
  return [
    ...(old.status === now.status ? [] : [`${old.status || 'no response'} → ${now.status || 'no response'}`]),
    ...counts.map(
      count => `${formatCount(readCount(old, count), count.one, count.many)} → ${formatNumber(readCount(now, count))}`,
    ),
    `request ${duration} → ${current}`,
  ]
}
