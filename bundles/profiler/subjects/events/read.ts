import { type EventNode, type EventTree, readEventTree } from '../../profile/event-tree.ts'
import { formatMicroseconds } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'

/** Compares the event tree of a profile with the registered listeners of its process. */
export function summarizeListeners({ isOfServer, nodes }: EventTree, { collectors, process: { events } }: Profile) {
  const dispatches = nodes.filter(({ isOfFramework, kind }) => kind === 'dispatch' && !isOfFramework)
  const more = collectors.events?.more
  const orphaned = dispatches.flatMap(({ children, details, name }) =>
    children.length === 0 && details.length === 0 ? [{ name, times: 1 }] : [],
  )
  for (const [name, count, heard] of more?.dispatches ?? [])
    if (name !== '' && count > heard) orphaned.push({ name, times: count - heard })
  // The listeners of the process are those of the kernel that shows the request of another server.
  const listeners = (isOfServer ? [] : (events?.listeners ?? [])).map(({ site = '', ...listener }) => ({
    site,
    ...listener,
  }))
  const sites = new Map(listeners.filter(({ site }) => site !== '').map(known => [keyOfListener(known), known.site]))
  return {
    /** The places where listeners were registered, by {@link keyOfListener}; unknown places are absent. */
    sites,
    /** The listeners of this package, by {@link keyOfListener}. */
    ours: new Set(listeners.filter(({ bundle }) => bundle !== undefined).map(keyOfListener)),
    called: findCalled(dispatches, sites, more),
    notCalled: findUncalled(dispatches, listeners, more),
    /** Events that were dispatched although no listener listens to them. */
    orphaned: [...groupBy(orphaned, ({ name }) => name)].map(([event, group]) => ({
      event,
      times: String(group.reduce((sum, { times }) => sum + times, 0)),
    })),
  }
}

interface RegisteredListener {
  readonly event: string
  readonly name: string
  readonly priority: number
  readonly site: string
}

/** What has no details. */
type More = NonNullable<Profile['collectors']['events']>['more']

/** The listeners with calls that have no details. */
function readMore({ collectors }: Pick<Profile, 'collectors'>) {
  return (collectors.events?.more?.calls ?? []).filter(([, , name]) => name !== '')
}

const unused = { calls: 0, duration: 0, isStopped: false, hasThrown: false, changes: [] }

function findCalled(dispatches: readonly EventNode[], sites: ReadonlyMap<string, string>, more: More) {
  const calls = dispatches.flatMap(({ children, name: event }) =>
    children.map(({ duration, name, priority }) => ({ event, name, priority, duration, times: 1 })),
  )
  for (const [event, priority, name, times, duration] of more?.calls ?? [])
    if (name !== '') calls.push({ event, name, priority, duration, times })
  return [...groupBy(calls, keyOfListener).values()].flatMap(group => {
    const duration = group.reduce((sum, { duration = 0 }) => sum + duration, 0)
    const times = group.reduce((sum, call) => sum + call.times, 0)
    return group.slice(0, 1).map(({ event, name, priority }) => ({
      event,
      priority: String(priority),
      name,
      site: sites.get(keyOfListener({ event, name, priority })) ?? '',
      calls: String(times),
      duration: formatMicroseconds(duration),
    }))
  })
}

function findUncalled(dispatches: readonly EventNode[], listeners: readonly RegisteredListener[], more: More) {
  // The request of another server: the listeners are those of the kernel that shows the profile.
  if (dispatches.length === 0) return []
  // Functions may have the same name: one call of `anonymous` is not a call of two listeners.
  const called = new Map<string, number>()
  for (const { children, name } of dispatches) {
    for (const [key, { length }] of groupBy(children, call => keyOfCall(name, call))) {
      called.set(key, Math.max(length, called.get(key) ?? 0))
    }
  }
  // Of listeners with one key, which were called is not known.
  for (const [event, priority, name] of more?.calls ?? [])
    called.set(keyOfListener({ event, priority, name }), Infinity)
  return listeners.flatMap(listener => {
    const { event, name, priority, site } = listener
    const key = keyOfListener(listener)
    const times = called.get(key) ?? 0
    called.set(key, times - 1)
    return times > 0 ? [] : [{ event, priority: String(priority), name, site, reason: explain(listener, dispatches) }]
  })
}

function explain({ event, name }: RegisteredListener, dispatches: readonly EventNode[]): string {
  const own = dispatches.filter(dispatch => dispatch.name === event)
  const last = own.find(({ details }) => details.includes(name))?.children.at(-1)
  if (last !== undefined) return `skipped: ${last.name} ${last.hasThrown ? 'threw' : 'stopped propagation'}`
  return own.length === 0 ? 'the event was not dispatched' : ''
}

function keyOfCall(event: string, { name, priority }: EventNode): string {
  return keyOfListener({ event, name, priority })
}

/** Identifies a listener. Functions may have the same name, so this is not always unique. */
export function keyOfListener({ event, name, priority }: Omit<RegisteredListener, 'site'>): string {
  return `${event}\n${priority}\n${name}`
}

/** All calls of a listener for an event, or of a function of another framework in a phase. */
export interface ListenerUse {
  readonly event: string
  readonly name: string
  readonly priority: number
  readonly calls: number
  /** Microseconds. */
  readonly duration: number
  readonly isStopped: boolean
  readonly hasThrown: boolean
  /** The changes that the listener made, such as `set header etag`. */
  readonly changes: readonly string[]
}

/** Reads the called listeners by event, listener and priority, in the order of their first calls. */
export function readListenerUses(profile: Profile): Map<string, ListenerUse> {
  return readUses(profile, false)
}

/** Reads the called functions of another framework: of another server, or of a mounted handler. */
export function readFunctionUses(profile: Profile): Map<string, ListenerUse> {
  return readUses(profile, true)
}

function readUses(profile: Profile, areOfFramework: boolean): Map<string, ListenerUse> {
  const uses = new Map<string, ListenerUse>()
  const nodes = readEventTree(profile).nodes.filter(({ isOfFramework }) => isOfFramework === areOfFramework)
  for (const { details, duration = 0, hasThrown, isStopped, kind, name, parent, priority } of nodes) {
    if (kind !== 'call' || parent === undefined) continue
    const key = JSON.stringify([parent.name, name, priority])
    const known = uses.get(key)
    uses.set(key, {
      event: parent.name,
      name,
      priority,
      calls: (known?.calls ?? 0) + 1,
      duration: (known?.duration ?? 0) + duration,
      isStopped: isStopped || known?.isStopped === true,
      hasThrown: hasThrown || known?.hasThrown === true,
      changes: [...(known?.changes ?? []), ...details],
    })
  }
  for (const [event, priority, name, calls, duration] of areOfFramework ? [] : readMore(profile)) {
    const key = JSON.stringify([event, name, priority])
    const known = uses.get(key) ?? { event, name, priority, ...unused }
    uses.set(key, { ...known, calls: known.calls + calls, duration: known.duration + duration })
  }
  return uses
}
