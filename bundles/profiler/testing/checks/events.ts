import { nearestNames } from '../../../../lib/text/nearest-names.ts'
import { writeProblem } from '../../insight/findings/finding.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { controllerTimes } from '../../profile/event-outline.ts'
import { type EventNode, readEventTree } from '../../profile/event-tree.ts'
import { formatDuration } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { coveredCallTime, readCalls } from '../../subjects/http/read.ts'
import { readQueries } from '../../subjects/queries/read.ts'
import { readRenders } from '../../subjects/templates/read.ts'
import type { Examination, ProfileCheck } from '../profile-check.ts'

/** Checks the duration of a part of the request, in milliseconds. */
export function checkDuration(limit: number, part: string): ProfileCheck {
  return {
    claim: `take at most ${limit} ms${part === 'request' ? '' : ` for ${part}`}`,
    panel: 'time',
    examine({ profile }) {
      const parts = measureParts(profile)
      const actual = parts.get(part)
      if (actual !== undefined) {
        return {
          holds: actual <= limit,
          expected: `at most ${limit}`,
          actual,
          found: `it took ${formatDuration(actual)}`,
        }
      }
      const known = [...parts.keys()]
      const found = `nothing was measured of it, but of ${toEnumeration(known)}`
      return { holds: false, expected: part, actual: known, found }
    },
  }
}

/**
 * Returns the durations of all parts of a request by name, in milliseconds: `request`, `controller`, `templates`,
 * `calls`, `queries`, then the names of the stopwatch, the events and the listeners.
 */
function measureParts(profile: Profile): ReadonlyMap<string, number> {
  const { nodes, roots } = readEventTree(profile)
  const { duration } = profile.summary
  const parts = new Map([['request', duration]])
  const add = (name: string, milliseconds: number) => parts.set(name, (parts.get(name) ?? 0) + milliseconds)
  for (const time of controllerTimes(roots, duration * 1000)) add('controller', time / 1000)
  for (const page of readRenders(profile).pages) add('templates', page.duration)
  const { calls } = readCalls(profile)
  if (calls.length > 0) add('calls', coveredCallTime(calls))
  const { database } = readQueries(profile)
  if (database.queries.length > 0) add('queries', database.covered)
  for (const { duration, name } of profile.collectors.time?.measured ?? []) add(name, duration / 1000)
  for (const { duration = 0, kind, name } of nodes) if (kind !== 'request') add(name, duration / 1000)
  return parts
}

/** Checks for dispatches of an event. */
export function checkDispatched(event: string, wanted: number | undefined): ProfileCheck {
  return {
    claim: withCount(`dispatch ${event}`, wanted),
    panel: 'events',
    examine({ profile }) {
      const names = namesOf(profile, 'dispatch')
      const actual = names.filter(name => name === event).length
      const others = `it dispatched ${toEnumeration([...new Set(names)])}`
      return examineCount({ wanted, actual, found: actual === 0 ? others : `it was dispatched ${toTimes(actual)}` })
    },
  }
}

/** Checks for calls of a listener. A class name includes all its methods. */
export function checkCalled(listener: string, wanted: number | undefined): ProfileCheck {
  return {
    claim: withCount(`call the listener ${listener}`, wanted),
    panel: 'events',
    examine(subject) {
      const isWanted = (name: string) => name === listener || name.startsWith(`${listener}.`)
      const actual = namesOf(subject.profile, 'call').filter(isWanted).length
      const found = actual > 0 ? `it was called ${toTimes(actual)}` : whyNotCalled(listener, isWanted, subject)
      return examineCount({ wanted, actual, found })
    },
  }
}

/** Checks the order of dispatches or calls. Others may be between them. */
export function checkOrder(kind: 'dispatch' | 'call', names: readonly string[]): ProfileCheck {
  return {
    claim: `${kind} in this order: ${names.join(', ')}`,
    panel: 'events',
    examine({ profile }) {
      const all = namesOf(profile, kind)
      // Other names would hide the difference.
      const actual = all.filter(name => names.includes(name))
      const found = actual.length === 0 ? 'there was none of them' : `the order was ${toEnumeration(actual)}`
      return { holds: standInOrder(names, all), expected: names, actual, found }
    },
  }
}

function namesOf(profile: Profile, kind: EventNode['kind']): string[] {
  return readEventTree(profile).nodes.flatMap(node => (node.kind === kind ? [node.name] : []))
}

function whyNotCalled(listener: string, isWanted: (name: string) => boolean, { profile }: ShownProfile): string {
  const { listeners = [] } = profile.process.events ?? {}
  const registered = [...new Set(listeners.map(({ name }) => name))]
  if (!registered.some(isWanted)) {
    const nearest = nearestNames(listener, registered)
    const hint = nearest.length === 0 ? '' : `: did you mean ${toEnumeration(nearest)}?`
    return `no listener of that name is registered${hint}`
  }
  const skipping = readEventTree(profile).nodes.find(
    ({ details, kind }) => kind === 'dispatch' && details.some(isWanted),
  )
  const last = skipping?.children.at(-1)
  return last === undefined
    ? 'it was not'
    : `${last.name} has ${last.hasThrown ? 'thrown' : `stopped ${skipping?.name}`} before`
}

/** Checks for findings of any rule, or of the given one. */
export function checkFindings(rule: string | undefined, wanted: number | undefined): ProfileCheck {
  return {
    claim: withCount(`have findings${rule === undefined ? '' : ` of the rule ${rule}`}`, wanted),
    panel: 'findings',
    examine({ findings }) {
      const matching = findings.filter(finding => rule === undefined || finding.rule === rule)
      const lines = findings.map(finding => `${finding.rule} (${writeProblem(finding)})`)
      const found = lines.length === 0 ? 'it had none' : `it had ${toEnumeration(lines)}`
      return examineCount({ wanted, actual: matching.length, found })
    },
  }
}

/** A counted fact. */
interface Count {
  /** `undefined` means at least one. */
  readonly wanted: number | undefined
  readonly actual: number
  readonly found: string
}

/** Compares a number with the wanted number; by default it must be at least one. */
export function examineCount({ actual, found, wanted }: Count): Examination {
  const expected = wanted ?? 'at least 1'
  return { holds: wanted === undefined ? actual > 0 : actual === wanted, expected, actual, found }
}

/** Adds the wanted number to a claim: `call it`, `call it twice`. */
export function withCount(claim: string, count: number | undefined): string {
  return count === undefined ? claim : `${claim} ${toTimes(count)}`
}

/** Writes a number of times: `once`, `3 times`. */
function toTimes(count: number): string {
  return ['not at all', 'once', 'twice'][count] ?? `${count} times`
}

/** Writes a number of things: `1 call`, `2 calls`. */
export function toAmount(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

const listLimit = 20

/** Joins texts with commas. Texts beyond the limit are only counted. */
export function toEnumeration(texts: readonly string[]): string {
  const rest = texts.length - listLimit
  return [...texts.slice(0, listLimit), ...(rest > 0 ? [`${rest} more`] : [])].join(', ')
}

/** Whether a list contains the names in this order; other names may be between them. */
function standInOrder(names: readonly string[], list: readonly string[]): boolean {
  let next = 0
  for (const name of list) if (name === names[next]) next++
  return next === names.length
}
