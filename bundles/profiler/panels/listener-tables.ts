import { formatMicroseconds } from '../format/format-microseconds.ts'
import type { ProcessFacts } from '../profile.ts'
import type { EventNode, EventTree } from '../reading/event-tree.ts'
import { asList, asNumber, asObject, asText } from '../reading/read-soft.ts'
import { groupBy } from './group-by.ts'

/** A listener that was called in a pass. */
export interface CalledListener {
  readonly event: string
  readonly priority: string
  readonly name: string
  readonly calls: string
  /** Of all calls together. */
  readonly duration: string
  /** Where it was registered: file and line; empty when that is not known. */
  readonly site: string
}

/** A listener that was not called in a pass, though it could have been. */
export interface UncalledListener {
  readonly event: string
  readonly priority: string
  readonly name: string
  readonly reason: string
  /** Where it was registered: file and line; empty when that is not known. */
  readonly site: string
}

/** Who was called and who was not, by the event tree and by what is known of all listeners. */
export interface ListenerTables {
  /** In the order of their first calls. */
  readonly called: readonly CalledListener[]
  readonly notCalled: readonly UncalledListener[]
  /** Events that were dispatched though nobody listens to them. */
  readonly orphaned: readonly { readonly event: string; readonly times: string }[]
  /** Where listeners were registered, by {@link keyOfListener}; those that are not known are absent. */
  readonly sites: ReadonlyMap<string, string>
}

/** Derives who was called, who was not and why, and which events nobody listens to. */
export function summarizeListeners({ nodes }: EventTree, facts: ProcessFacts): ListenerTables {
  const dispatches = nodes.filter(({ kind }) => kind === 'dispatch')
  const orphaned = dispatches.filter(({ children, details }) => children.length === 0 && details.length === 0)
  const listeners = readListeners(facts)
  const sites = new Map(listeners.filter(({ site }) => site !== '').map(known => [keyOfListener(known), known.site]))
  return {
    sites,
    called: findCalled(dispatches, sites),
    notCalled: findUncalled(dispatches, listeners),
    orphaned: [...groupBy(orphaned, ({ name }) => name)].map(([event, { length }]) => ({
      event,
      times: String(length),
    })),
  }
}

interface KnownListener {
  readonly event: string
  readonly name: string
  readonly priority: number
  readonly site: string
}

function readListeners(facts: ProcessFacts): KnownListener[] {
  return asList(asObject(asObject(facts).events).listeners)
    .map(asObject)
    .map(({ event, name, priority, site }) => ({
      event: asText(event),
      name: asText(name),
      priority: asNumber(priority),
      site: asText(site),
    }))
}

function findCalled(dispatches: readonly EventNode[], sites: ListenerTables['sites']): CalledListener[] {
  const calls = dispatches.flatMap(({ children, name }) => children.map(call => ({ ...call, event: name })))
  return [...groupBy(calls, keyOfListener).values()].flatMap(group => {
    const duration = group.reduce((sum, { duration = 0 }) => sum + duration, 0)
    return group.slice(0, 1).map(({ event, name, priority }) => ({
      event,
      priority: String(priority),
      name,
      site: sites.get(keyOfListener({ event, name, priority })) ?? '',
      calls: String(group.length),
      duration: formatMicroseconds(duration),
    }))
  })
}

function findUncalled(dispatches: readonly EventNode[], listeners: readonly KnownListener[]): UncalledListener[] {
  // Functions may share their names: of two that are called `anonymous`, one call is not both.
  const called = new Map<string, number>()
  for (const { children, name } of dispatches) {
    for (const [key, { length }] of groupBy(children, call => keyOfListener({ ...call, event: name }))) {
      called.set(key, Math.max(length, called.get(key) ?? 0))
    }
  }
  return listeners.flatMap(listener => {
    const { event, name, priority, site } = listener
    const key = keyOfListener(listener)
    const times = called.get(key) ?? 0
    called.set(key, times - 1)
    return times > 0 ? [] : [{ event, priority: String(priority), name, site, reason: explain(listener, dispatches) }]
  })
}

function explain({ event, name }: KnownListener, dispatches: readonly EventNode[]): string {
  const own = dispatches.filter(dispatch => dispatch.name === event)
  const last = own.find(({ details }) => details.includes(name))?.children.at(-1)
  if (last !== undefined) return `skipped: ${last.name} ${last.hasThrown ? 'threw' : 'stopped propagation'}`
  return own.length === 0 ? 'the event was not dispatched' : ''
}

/** Functions may share their names: what tells a listener from most others. */
export function keyOfListener({ event, name, priority }: Omit<KnownListener, 'site'>): string {
  return JSON.stringify([event, name, priority])
}
