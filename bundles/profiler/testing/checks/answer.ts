import { statusText } from '../../../../lib/http/response.ts'
import { type LogLevel, logLevels } from '../../../../lib/log/logger.ts'
import { readExceptions, type StoredException } from '../../profile/exceptions.ts'
import { toTarget } from '../../profile/format.ts'
import { readCalls } from '../../subjects/http/read.ts'
import { readLogs } from '../../subjects/logs/read.ts'
import { readRenders } from '../../subjects/templates/read.ts'
import type { ProfileCheck } from '../profile-check.ts'
import { examineCount, toAmount, toEnumeration, withCount } from './events.ts'

/** Checks the status of the response. */
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

/** Checks the matched route. */
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

/** Checks for an exception, also as the cause of another one. Without a class and a message, any exception counts. */
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

/** Checks whether the session was read or started. */
export const sessionCheck: ProfileCheck = {
  claim: 'start the session',
  panel: 'request',
  examine({ profile }) {
    const actual = profile.collectors.session?.metadata !== undefined
    return { holds: actual, expected: true, actual, found: `it did${actual ? '' : ' not'}` }
  },
}

/** Checks for renders of a template as a page or partial; without a name, of any template. */
export function checkRendered(template: string | undefined, wanted: number | undefined): ProfileCheck {
  return {
    claim: withCount(template === undefined ? 'render templates' : `render the template ${template}`, wanted),
    panel: 'templates',
    examine({ profile }) {
      const names = readRenders(profile).all.map(({ name }) => name)
      const actual = template === undefined ? names : names.filter(name => name === template)
      const found = names.length === 0 ? 'it rendered none' : `it rendered ${toEnumeration(names)}`
      return examineCount({ wanted, actual: actual.length, found })
    },
  }
}

/** Checks for log messages of at least a level, optionally with a text or pattern. */
export function checkLogged(
  least: LogLevel,
  text: string | RegExp | undefined,
  wanted: number | undefined,
): ProfileCheck {
  const says = text === undefined ? '' : ` that says ${typeof text === 'string' ? `"${text}"` : text}`
  const levels = logLevels.slice(logLevels.indexOf(least))
  const kind = levels.length === 1 ? least : `${least} or above`
  return {
    claim: withCount(`log a message of level ${kind}${says}`, wanted),
    panel: 'logger',
    examine({ profile }) {
      const { logs } = readLogs(profile)
      const loud = logs.filter(({ level }) => levels.includes(level))
      const wantedLogs = loud.filter(({ message }) => text === undefined || matches(message, text))
      const lines = loud.map(({ level, message }) => `${level} "${message}"`)
      const found = lines.length === 0 ? `it logged nothing of level ${kind}` : `it logged ${toEnumeration(lines)}`
      return examineCount({ wanted, actual: wantedLogs.length, found })
    },
  }
}

/** Checks for HTTP client calls. With a text or pattern, only those to matching URLs count. */
export function checkSent(url: string | RegExp | undefined, wanted: number | undefined): ProfileCheck {
  const where = url === undefined ? '' : ` to ${url}`
  return {
    claim: wanted === undefined ? `send requests${where}` : `send ${toAmount(wanted, 'request')}${where}`,
    panel: 'http',
    examine({ profile }) {
      const { calls, omitted } = readCalls(profile)
      const matching = calls.filter(call => url === undefined || matches(call.url, url))
      // The URLs of omitted calls are unknown, so they count only without a URL.
      const actual = matching.length + (url === undefined ? omitted : 0)
      const lines = calls.map(call => `${call.method} ${call.url} (${call.outcome.text})`)
      const found = lines.length === 0 ? 'it sent none' : `it sent ${toEnumeration(lines)}`
      return examineCount({ wanted, actual, found })
    },
  }
}

/** Checks for sub-requests. */
export function checkSubRequests(wanted: number | undefined): ProfileCheck {
  return {
    claim: wanted === undefined ? 'make sub-requests' : `make ${toAmount(wanted, 'sub-request')}`,
    panel: 'events',
    examine({ children, profile }) {
      const actual = profile.children.length
      const names = children.map(({ controller, status, url }) => `${controller ?? toTarget(url)} (${status})`)
      return examineCount({ wanted, actual, found: actual === 0 ? 'it made none' : `it made ${toEnumeration(names)}` })
    },
  }
}

/** Whether a text contains another, or matches a pattern. */
export function matches(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === 'string' ? text.includes(wanted) : text.search(wanted) !== -1
}

function toStatus(status: number): string {
  return status === 0 ? 'nothing' : `${status} ${statusText(status)}`
}
