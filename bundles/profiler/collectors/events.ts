import type { EventDispatcher, Listener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Pass } from '../recording/pass.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'
import type { SpanRow } from '../recording/span-row.ts'

/** What was dispatched in a pass. */
export interface EventsData {
  readonly spans: readonly SpanRow[]
  /** How many spans there was no room for. */
  readonly dropped: number
}

/** Every listener of a process, event by event, in the order in which they are called. */
export interface EventsFacts {
  readonly listeners: readonly KnownListener[]
}

interface KnownListener {
  readonly event: string
  readonly name: string
  readonly priority: number
  /** Where it was registered: file, relative to the project, and line. */
  readonly site?: string
}

/** Tells the event tree of a pass; of the process, who listens to what, and where that was said. */
export function createEventsCollector(
  dispatcher: EventDispatcher,
  siteOf: (listener: Listener) => string | undefined,
): ProfileCollector {
  return {
    name: 'events',
    collect: ({ events }: Pass): EventsData => ({ spans: events.rows, dropped: events.dropped }),
    describeProcess: (): EventsFacts => ({
      listeners: Array.from(dispatcher.types()).flatMap(type =>
        dispatcher.listeners(type).map(({ listener, name, priority }): KnownListener => {
          const site = siteOf(listener)
          return { event: type.eventName, name, priority, ...(site !== undefined && { site }) }
        }),
      ),
    }),
  }
}
