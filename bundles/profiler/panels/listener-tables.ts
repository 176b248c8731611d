import type { ProcessFacts } from '../profile.ts'
import type { EventNode, EventTree } from './event-tree.ts'
import { formatMicroseconds } from './format-microseconds.ts'
import { groupBy } from './group-by.ts'
import { asList, asNumber, asObject, asText } from './read-soft.ts'

/** A listener that was called in a pass. */
export interface CalledListener {
  readonly event: string
  readonly priority: string
  readonly name: string
  readonly calls: string
  /** Of all calls together. */
  readonly duration: string
}

/** A listener that was not called in a pass, though it could have been. */
export interface UncalledListener {
  readonly event: string
  readonly priority: string
  readonly name: string
  readonly reason: string
}

/** Who was called and who was not, by the event tree and by what is known of all listeners. */
export interface ListenerTables {
  /** In the order of their first calls. */
  readonly called: readonly CalledListener[]
  readonly notCalled: readonly UncalledListener[]
  /** Events that were dispatched though nobody listens to them. */
  readonly orphaned: readonly { readonly event: string; readonly times: string }[]
}

/** Derives who was called, who was not and why, and which events nobody listens to. */
export function summarizeListeners({ nodes }: EventTree, facts: ProcessFacts): ListenerTables {
  const dispatches = nodes.filter(({ kind }) => kind === 'dispatch')
  const orphaned = dispatches.filter(({ children, details }) => children.length === 0 && details.length === 0)
  return {
    called: findCalled(dispatches),
    notCalled: findUncalled(dispatches, readListeners(facts)),
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
}

function readListeners(facts: ProcessFacts): KnownListener[] {
  return asList(asObject(asObject(facts).events).listeners)
    .map(asObject)
    .map(({ event, name, priority }) => ({ event: asText(event), name: asText(name), priority: asNumber(priority) }))
}

function findCalled(dispatches: readonly EventNode[]): CalledListener[] {
  const calls = dispatches.flatMap(({ children, name }) => children.map(call => ({ ...call, event: name })))
  return [...groupBy(calls, keyOf).values()].flatMap(group => {
    const duration = group.reduce((sum, { duration = 0 }) => sum + duration, 0)
    return group.slice(0, 1).map(({ event, name, priority }) => ({
      event,
      priority: String(priority),
      name,
      calls: String(group.length),
      duration: formatMicroseconds(duration),
    }))
  })
}

function findUncalled(dispatches: readonly EventNode[], listeners: readonly KnownListener[]): UncalledListener[] {
  // Functions may share their names: of two that are called `anonymous`, one call is not both.
  const called = new Map<string, number>()
  for (const { children, name } of dispatches) {
    for (const [key, { length }] of groupBy(children, call => keyOf({ ...call, event: name }))) {
      called.set(key, Math.max(length, called.get(key) ?? 0))
    }
  }
  return listeners.flatMap(listener => {
    const { event, name, priority } = listener
    const key = keyOf(listener)
    const times = called.get(key) ?? 0
    called.set(key, times - 1)
    return times > 0 ? [] : [{ event, priority: String(priority), name, reason: explain(listener, dispatches) }]
  })
}

function explain({ event, name }: KnownListener, dispatches: readonly EventNode[]): string {
  const own = dispatches.filter(dispatch => dispatch.name === event)
  const last = own.find(({ details }) => details.includes(name))?.children.at(-1)
  if (last !== undefined) return `skipped: ${last.name} ${last.hasThrown ? 'threw' : 'stopped propagation'}`
  return own.length === 0 ? 'the event was not dispatched' : ''
}

function keyOf({ event, name, priority }: KnownListener): string {
  return JSON.stringify([event, name, priority])
}
