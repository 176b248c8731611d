import { nearestNames } from '../../../../lib/text/nearest-names.ts'
import type { Profile } from '../../profile.ts'
import { type EventNode, readEventTree } from '../../reading/event-tree.ts'
import { asObject, asObjects, asText } from '../../reading/read-soft.ts'
import type { RecordSubject } from '../../renderings/record-subject.ts'
import type { ProfileCheck } from '../profile-check.ts'
import { examineCount, standInOrder, toEnumeration, toTimes, withCount } from './counting.ts'

/** Was the event dispatched: at all, or so many times? */
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

/** Was the listener called: at all, or so many times? A class alone stands for all its methods. */
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

/** Were these dispatched, or called, in this order? Others may be between them. */
export function checkOrder(kind: 'dispatch' | 'call', names: readonly string[]): ProfileCheck {
  return {
    claim: `${kind} in this order: ${names.join(', ')}`,
    panel: 'events',
    examine({ profile }) {
      const all = namesOf(profile, kind)
      // What nobody asked about would only hide the difference.
      const actual = all.filter(name => names.includes(name))
      const found = actual.length === 0 ? 'there was none of them' : `the order was ${toEnumeration(actual)}`
      return { holds: standInOrder(names, all), expected: names, actual, found }
    },
  }
}

function namesOf(profile: Profile, kind: EventNode['kind']): string[] {
  return readEventTree(profile).nodes.flatMap(node => (node.kind === kind ? [node.name] : []))
}

function whyNotCalled(
  listener: string,
  isWanted: (name: string) => boolean,
  { facts, profile }: RecordSubject,
): string {
  const registered = [...new Set(asObjects(asObject(facts.events).listeners).map(({ name }) => asText(name)))]
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
