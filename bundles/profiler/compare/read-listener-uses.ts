import type { Profile } from '../profile.ts'
import { readEventTree } from '../reading/event-tree.ts'

/** What a listener has done for an event, in all its calls together. */
export interface ListenerUse {
  readonly event: string
  readonly name: string
  readonly priority: number
  readonly calls: number
  /** Microseconds. */
  readonly duration: number
  readonly isStopped: boolean
  readonly hasThrown: boolean
  /** What it has changed, such as `set header etag`. */
  readonly changes: readonly string[]
}

/** Reads who was called in a profile, by event, listener and priority, in the order of the first calls. */
export function readListenerUses(profile: Profile): Map<string, ListenerUse> {
  const uses = new Map<string, ListenerUse>()
  for (const { details, duration = 0, hasThrown, isStopped, kind, name, parent, priority } of readEventTree(profile)
    .nodes) {
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
  return uses
}
