import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Pass } from '../pass.ts'
import type { ProfileCollector } from '../profile-collector.ts'
import type { SpanRow } from '../span-row.ts'

/** What was dispatched in a pass. */
export interface EventsData {
  readonly spans: readonly SpanRow[]
  /** How many spans there was no room for. */
  readonly dropped: number
}

/** Every listener of a process, event by event, in the order in which they are called. */
export interface EventsFacts {
  readonly listeners: readonly { readonly event: string; readonly name: string; readonly priority: number }[]
}

/** Tells the event tree of a pass; of the process, who listens to what. */
export function createEventsCollector(dispatcher: EventDispatcher): ProfileCollector {
  return {
    name: 'events',
    collect: ({ events }: Pass): EventsData => ({ spans: events.rows, dropped: events.dropped }),
    describeProcess: (): EventsFacts => ({
      listeners: Array.from(dispatcher.types()).flatMap(type =>
        dispatcher.listeners(type).map(({ name, priority }) => ({ event: type.eventName, name, priority })),
      ),
    }),
  }
}
