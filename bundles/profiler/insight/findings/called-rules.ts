import type { FindingRule, RuleFinding } from '../../../../kernel/contracts/collectors.ts'
import { findThrowPlace, readExceptions } from '../../profile/exceptions.ts'
import { formatCount, formatPlace, shorten, toOneLine, toTarget } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import { nameOfUnit } from '../../profile/units.ts'
import { type CalledRequest, readCalled } from '../../profile/work.ts'
import { patternOf, readCalls, type StoredCall } from '../../subjects/http/read.ts'
import { describePlaces } from './finding.ts'
import { isRepeat } from './work-rules.ts'

/** A call that was answered by an error of a program whose profile is stored. */
interface CalledError {
  readonly call: StoredCall
  /** The request that it has made, then the one of this that has failed, and so on. */
  readonly path: readonly [CalledRequest, ...CalledRequest[]]
}

/** Lists the calls whose requests have failed, in their order. One that was repeated with success has not failed. */
export function listCalledErrors(profile: Profile): readonly CalledError[] {
  return listErrors(profile, readCalled(profile))
}

function listErrors(profile: Profile, called: readonly CalledRequest[]): CalledError[] {
  const { calls } = readCalls(profile)
  return called.flatMap((request): CalledError[] => {
    const call = calls[request.index]
    if (call === undefined || request.summary.status < 500 || isRepeated(call, calls)) return []
    const [inner] = request.profile === undefined ? [] : listErrors(request.profile, request.called)
    return [{ call, path: [request, ...(inner?.path ?? [])] }]
  })
}

/** Whether a failed call was sent again, and was then answered. */
export function isRepeated(failed: StoredCall, calls: readonly StoredCall[]): boolean {
  const { method, url } = failed
  return calls.some(
    call =>
      isRepeat(call, failed) && call.method === method && call.url === url && call.error === '' && call.status < 400,
  )
}

const textLimit = 120

/** Finds calls of programs that have failed, and names the error there, over any number of programs. */
export const calledErrorRule: FindingRule<Profile> = {
  name: 'called-error',
  title: 'Called request failed',
  find: profile => [...groupBy(listCalledErrors(profile), ({ call }) => patternOf(call)).values()].map(describeErrors),
  measure: {
    unit: 'failed calls',
    // Its called profile may be missing.
    read: ({ values = {} }, profile) =>
      readCalls(profile).calls.filter(call => call.status >= 500 && nameOf(call) === values.call).length,
  },
}

function describeErrors(errors: readonly [CalledError, ...CalledError[]]): RuleFinding {
  const [{ call, path }] = errors
  const [first] = path
  const last = path.at(-1) ?? first
  const often = errors.length === 1 ? '' : `${formatCount(errors.length, 'call')} such as `
  const after = last === first ? '' : ` after {called-last} had answered ${last.summary.status}`
  const { error, place } = describeError(last)
  const why = `${error === '' ? '' : ': {called-error}'}${place === '' ? '' : ' ({called-place})'}`
  const values = {
    ...{ call: nameOf(call), 'called-program': programOf(first), 'called-last': programOf(last) },
    ...{ 'called-error': error, 'called-place': place },
  }
  return {
    severity: 'error',
    problem: `{called-program} answered ${first.summary.status} to ${often}{call}${after}${why}.`,
    ...describePlaces(
      errors.map(({ call }) => call),
      values,
      'Correct the error in {called-last}, or answer without it where it is called',
    ),
    place:
      last.profile === undefined
        ? { panel: 'http', anchor: `call-${call.index}` }
        : { panel: 'overview', token: last.summary.token },
    evidence: { count: errors.length },
  }
}

function nameOf(call: StoredCall): string {
  return shorten(patternOf(call), textLimit)
}

const nameLimit = 60

/** The name of the program that has answered a called request. */
export function programOf({ summary: { program, token } }: CalledRequest): string {
  return shorten(toOneLine(program ?? '') || token, nameLimit)
}

/** What has answered a call of a request: another program, or a route of the same one. */
export function nameAnswerer(called: CalledRequest, { summary: { program } }: Profile): string {
  const { summary } = called
  if (summary.program !== program) return programOf(called)
  // A program calls its own routes by a path.
  const [url = ''] = toTarget(summary.url).split(/[?#]/, 1)
  return nameOfUnit({ ...summary, url })
}

/** The first error of a called request, and the innermost line of its application; empty if they are not known. */
function describeError({ profile, summary }: CalledRequest) {
  const [exception] = profile === undefined ? [] : readExceptions(profile)
  const { message = '', name = summary.exception ?? '' } = exception ?? {}
  const error = toOneLine(message === '' ? name : `${name}: ${message.replace(/\.$/, '')}`)
  const frame = profile && findThrowPlace(profile)
  return { error: shorten(error, textLimit), place: frame === undefined ? '' : shorten(formatPlace(frame), textLimit) }
}
