import { statusText } from '../../../../lib/http/response.ts'
import { readExceptions, type StoredException } from '../../reading/read-exceptions.ts'
import { asObject } from '../../reading/read-soft.ts'
import type { ProfileCheck } from '../profile-check.ts'
import { toEnumeration } from './counting.ts'

/** Was it answered with this status? */
export function checkStatus(wanted: number): ProfileCheck {
  return {
    claim: `be answered with ${toStatus(wanted)}`,
    examine({ profile }) {
      const { exception, status } = profile.summary
      const found = `it was answered with ${toStatus(status)}${exception === null ? '' : `, after ${exception} was thrown`}`
      return { holds: status === wanted, expected: wanted, actual: status, found }
    },
  }
}

/** Was this route matched? */
export function checkRoute(wanted: string): ProfileCheck {
  return {
    claim: `match the route "${wanted}"`,
    panel: 'router',
    examine({ profile }) {
      const { route } = profile.summary
      const found = route === null ? 'it matched none' : `it matched "${route}"`
      return { holds: route === wanted, expected: wanted, actual: route, found }
    },
  }
}

/** Was something thrown: anything, or an error of this class that says this, be it as the cause of another? */
export function checkThrown(name: string | undefined, message: string | RegExp | undefined): ProfileCheck {
  const says = message === undefined ? '' : ` that says ${typeof message === 'string' ? `"${message}"` : message}`
  return {
    claim: `throw ${name ?? 'something'}${says}`,
    panel: 'exception',
    examine({ profile }) {
      const exceptions = readExceptions(profile)
      const isWanted = (exception: StoredException) =>
        (name === undefined || exception.name === name) &&
        (message === undefined || matches(exception.message, message))
      const actual = exceptions.map(({ message, name }) => `${name}: ${message}`)
      const found = actual.length === 0 ? 'it threw nothing' : `it threw ${toEnumeration(actual)}`
      return { holds: exceptions.some(isWanted), expected: `${name ?? 'something'}${says}`, actual, found }
    },
  }
}

/** Did it read or begin a session? */
export const sessionCheck: ProfileCheck = {
  claim: 'start the session',
  panel: 'request',
  examine({ profile }) {
    const actual = asObject(profile.data.session).metadata !== undefined
    return { holds: actual, expected: true, actual, found: `it did${actual ? '' : ' not'}` }
  },
}

/** Whether a text contains another, or matches a pattern. */
export function matches(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === 'string' ? text.includes(wanted) : text.search(wanted) !== -1
}

function toStatus(status: number): string {
  return status === 0 ? 'nothing' : `${status} ${statusText(status)}`
}
