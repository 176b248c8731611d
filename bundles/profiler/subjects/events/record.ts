import type { MaskingCopier } from '../../../../lib/redact/masking-copier.ts'
import type { EventsData, EventsProcessData, ListenerData, OldHeaderRow } from '../../profile/span-data.ts'
import { findListenerSite } from '../../record/code-places.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { copyHeader, createCopier } from '../../record/copy.ts'
import { middlewarePart } from '../../record/middleware-trace.ts'
import type { RecordedApplication, RecordedSubject } from '../../record/recorded-subject.ts'
import type { Trace } from '../../record/trace.ts'

/** The events of requests. The dispatcher records them itself. */
export const eventsSubject: RecordedSubject = {
  createCollectors: app => [createEventsCollector(app)],
}

/** Collects the event tree of a request. For the process, collects the listeners and where they were registered. */
function createEventsCollector({
  directory,
  dispatcher,
  redactor,
}: Pick<RecordedApplication, 'directory' | 'dispatcher' | 'redactor'>): CollectorOf<'events'> {
  return {
    name: 'events',
    collect: (trace: Trace): EventsData => {
      const { events, main } = trace
      const places = middlewarePart.find(trace)?.places(directory)
      return {
        spans: events.rows,
        dropped: events.dropped,
        ...(events.more && { more: events.more.toData() }),
        waits: events.waits,
        ...readReceived(trace),
        ...(trace.drains.length > 0 && { drains: trace.drains }),
        isShared: main.mostOthers > 0,
        ...(places && { places }),
        ...(events.oldHeaders.length > 0 && { oldHeaders: copyOldHeaders(events.oldHeaders, createCopier(redactor)) }),
      }
    },
    describeProcess: (): EventsProcessData => ({
      listeners: Array.from(dispatcher.types()).flatMap(type =>
        dispatcher.listeners(type).map(({ listener, name, priority }): ListenerData => {
          return { event: type.eventName, name, priority, ...findListenerSite(listener, directory) }
        }),
      ),
    }),
  }
}

function copyOldHeaders(rows: readonly OldHeaderRow[], copier: MaskingCopier): OldHeaderRow[] {
  return rows.map(([span, name, value]) => [span, name, copyHeader(name, value, copier)])
}

/** The time in which the application waited for the body of the request. Sub-requests share it. */
function readReceived({ request, start }: Trace): Pick<EventsData, 'received'> {
  const [from, until] = (request.hasBody && request.body.peek().reading) || [0, 0]
  if (until - from < leastReceived || until < start) return {}
  const begin = Math.max(start, from)
  return { received: [Math.round((begin - start) * 1000), Math.round((until - begin) * 1000)] }
}

/** Milliseconds: a shorter time is that of the parser. */
const leastReceived = 1
