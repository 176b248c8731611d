import { findThrowFrame, readExceptions } from '../../profile/exceptions.ts'
import { formatCount, formatDuration, toTarget } from '../../profile/format.ts'
import { readHeader } from '../../profile/format-value.ts'
import type { Profile } from '../../profile/profile.ts'
import { toReadableUrl } from '../../profile/readable-url.ts'
import { readRouteLog } from '../../profile/routes.ts'
import type { ShownProfile } from '../relatives.ts'
import { describeCauses } from './cause.ts'
import { type OverviewPart, type Sentence, toParts, toPlaceValue, toPlainText, toValue } from './sentence-parts.ts'
import type { TimePart } from './time-parts.ts'
import { compareWithUsual, type TimeRatio, type UsualTime } from './usual-time.ts'

/** The profile that a sentence describes. */
type SentenceSubject = Pick<ShownProfile, 'findings' | 'profile'>

/**
 * Writes one sentence about a request: how it ended, its time, compared with the usual time, the parts that took longest,
 * and the worst problem. For a failed request the exception is the only problem. The sentence has at most 240
 * characters: if it would be longer, the least important parts are left out.
 */
export function writeSentence(
  subject: SentenceSubject,
  parts: readonly TimePart[],
  usual: UsualTime,
): readonly OverviewPart[] {
  const { profile } = subject
  const start = [...describeSubject(profile), ...describeEnding(profile)]
  const failure = describeFailure(profile)
  if (failure !== undefined) return fit([[...start, ': ', ...failure], start])

  const begin = [...start, ...describePace(profile, usual)]
  const causes = describeCauses(parts, profile)
  const [first] = causes
  const problem = describeProblem(subject, first?.part.place.panel)
  const end = problem === undefined ? [] : ['; ', ...problem]
  if (first === undefined) return fit([[...begin, ...end], begin])
  const [, ...others] = causes.map(({ what, where }) => [', ', ...what, ...where])
  const withFirst = [...begin, ': ', ...first.what]
  const version = (count: number) => [...withFirst, ...first.where, ...others.slice(0, count).flat(), ...end]
  return fit([version(2), version(1), version(0), [...withFirst, ...end], withFirst, begin])
}

/** Characters. */
const sentenceLimit = 240

/** Returns the first version that is short enough, otherwise the last one. */
function fit(versions: readonly Sentence[]): readonly OverviewPart[] {
  return versions
    .map(version => toParts([...version, '.']))
    .reduce((chosen, next) => (toPlainText(chosen).length <= sentenceLimit ? chosen : next))
}

const targetLimit = 60

function describeSubject({ summary }: Profile): Sentence {
  const { controller, method, parent, url } = summary
  const [path = ''] = toTarget(url).split(/[?#]/, 1)
  const name = parent === null || controller === null ? `${method} ${toReadableUrl(path)}` : controller
  return [...(parent === null ? [] : ['Sub-request ']), toValue(name, targetLimit)]
}

function describeEnding(profile: Profile): Sentence {
  const { duration, outcome, status } = profile.summary
  const time = formatDuration(duration)
  if (outcome === 'crashed') return [` ended with the process after ${time}`]
  if (outcome === 'stream-failed') return [` broke off after ${time}`]
  if (outcome === 'aborted') return [` took ${time} and was aborted by the client`]
  if (outcome === 'unfinished') return [` was not complete after ${time}`]
  if (status === 0) return [` had no response after ${time}`]
  if (status >= 400)
    return [hasThrown(profile) ? ` failed with ${status} after ${time}` : ` was answered with ${status} in ${time}`]
  const [location] = status >= 300 ? readHeader(profile.collectors.response, 'location') : []
  if (location !== undefined)
    return [' redirected to ', toValue(toReadableUrl(toTarget(location)), targetLimit), ` in ${time}`]
  return [` took ${time}`]
}

function hasThrown(profile: Profile): boolean {
  return profile.summary.exception !== null || readExceptions(profile).length > 0
}

const nameLimit = 40

/** Describes the exception of a request that failed; `undefined` if there was none, or a listener handled it. */
function describeFailure(profile: Profile): Sentence | undefined {
  const { exception, outcome, status } = profile.summary
  const isFailure = status === 0 || status >= 400 || outcome !== 'complete'
  if (!isFailure || !hasThrown(profile)) return undefined
  const exceptions = readExceptions(profile)
  const [first] = exceptions
  const { file, line } = findThrowFrame(profile) ?? {}
  const place = file === undefined ? [] : [' at ', toPlaceValue(file, line)]
  return [
    toValue(first?.name ?? exception ?? 'Error', nameLimit),
    ...place,
    ...(describeRouting(profile) ??
      (first === undefined || first.message === ''
        ? []
        : [': ', toValue(first.message.replace(/\.$/, ''), messageLimit)])),
  ]
}

/** Says what the router found instead; `undefined` if a route matched. The message of the exception repeats the URL. */
function describeRouting({ collectors }: Profile): Sentence | undefined {
  const { allow = [], routes: [nearest] = [] } = readRouteLog(collectors.router) ?? {}
  if (allow.length > 0) return [': the path takes ', toValue(allow.join(', '), messageLimit)]
  if (nearest === undefined) return undefined
  return [': no route matches, the nearest is ', toValue(nearest.path, messageLimit)]
}

const messageLimit = 90

/** A request is slower than usual, or, after an edit, faster than before it. */
function describePace({ summary }: Profile, { beforeEdit, ...usual }: UsualTime): Sentence {
  const { duration, isCold, outcome } = summary
  if (outcome !== 'complete' || isCold) return []
  const slower = compareWithUsual(duration, usual)
  if (slower?.isSlower) return [`, ${formatFactor(slower)} times as long as usual`]
  const faster = beforeEdit && compareWithUsual(duration, beforeEdit)
  return faster === undefined || faster.isSlower ? [] : [`, ${formatFactor(faster)} times as fast as before the edit`]
}

function formatFactor({ factor }: TimeRatio): string {
  return factor < 10 ? factor.toFixed(1).replace('.0', '') : factor.toFixed(0)
}

/** Describes the worst problem of a request that did not fail: of the findings, one in the panel of the cause comes first. */
function describeProblem({ findings, profile }: SentenceSubject, cause: string | undefined): Sentence | undefined {
  const { errors, exception, warnings } = profile.summary
  if (exception !== null) return ['exception: ', toValue(exception, nameLimit)]
  if (errors > 0) return [`${formatCount(errors, 'error')} logged`]
  const serious = findings.filter(({ severity }) => severity !== 'info')
  const found = serious.find(({ place }) => place?.panel === cause) ?? serious[0]
  if (found !== undefined) return ['finding: ', toValue(found.title, nameLimit)]
  return warnings > 0 ? [`${formatCount(warnings, 'warning')} logged`] : undefined
}
