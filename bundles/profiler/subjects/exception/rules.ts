import type { FindingRule, RuleFinding } from '../../../../kernel/contracts/collectors.ts'
import { findThrowPlace, readExceptions, type StoredException } from '../../profile/exceptions.ts'
import { shorten, toOneLine } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { isRepeatedAnswer } from '../../record/node-warnings.ts'

const messageLength = 120

/** Finds requests that were answered twice. The client gets the first answer. */
export const secondResponseRule: FindingRule<Profile> = {
  name: 'second-response',
  title: 'Second response',
  find(profile) {
    const [error] = readExceptions(profile).filter(({ code }) => isRepeatedAnswer(code))
    if (error === undefined) return []
    return [
      {
        severity: 'error',
        problem: 'The application answered the request again, after its response was sent or had begun ({error}).',
        ...describeError(error, profile),
        advice: 'Return after the first response, and call next() only without one.',
        evidence: {},
      },
    ]
  },
}

/** Finds errors that were thrown after the response: the client knows nothing of them. */
export const lateErrorRule: FindingRule<Profile> = {
  name: 'late-error',
  title: 'Error after the response',
  find(profile) {
    const late = profile.collectors.exception?.late ?? 0
    // Causes follow the error that was thrown.
    const thrown = readExceptions(profile).filter(({ relation }) => relation === '' || relation === 'Thrown later')
    return thrown
      .slice(Math.max(0, thrown.length - late))
      .filter(({ code }) => !isRepeatedAnswer(code))
      .map(error => ({
        severity: 'error',
        problem: `After the end of the request, {error} was thrown${profile.summary.outcome === 'crashed' ? ', and ended the process' : ''}.`,
        ...describeError(error, profile),
        advice: 'Await the work before the response, or handle its errors where it is started.',
        evidence: {},
      }))
  },
}

function describeError(error: StoredException, profile: Profile): Pick<RuleFinding, 'code' | 'place' | 'values'> {
  const { frames, message, name } = error
  const own =
    frames.find(({ file, origin }) => origin === 'application' && file !== undefined) ?? findThrowPlace(profile)
  const { file, line } = own ?? {}
  return {
    values: { error: shorten(toOneLine(message === '' ? name : `${name}: ${message}`), messageLength) },
    ...(file !== undefined && line !== undefined && { code: { file, line } }),
    place: { panel: 'exception' },
  }
}
