import type { EventDispatcher, Listener } from '../../../../lib/event-dispatcher/event-dispatcher.ts'
import type { EventsData, EventsProcessData, ListenerData } from '../../profile/span-data.ts'
import type { ListenerSite } from '../../record/code-places.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { Trace } from '../../record/trace.ts'

/** Collects the event tree of a request. For the process, collects the listeners and where they were registered. */
export function createEventsCollector(
  dispatcher: EventDispatcher,
  findSite: (listener: Listener) => ListenerSite | undefined,
): CollectorOf<'events'> {
  return {
    name: 'events',
    collect: ({ events, main }: Trace): EventsData => ({
      spans: events.rows,
      dropped: events.dropped,
      waits: events.waits,
      isShared: main.mostOthers > 0,
    }),
    describeProcess: (): EventsProcessData => ({
      listeners: Array.from(dispatcher.types()).flatMap(type =>
        dispatcher.listeners(type).map(({ listener, name, priority }): ListenerData => {
          return { event: type.eventName, name, priority, ...findSite(listener) }
        }),
      ),
    }),
  }
}
