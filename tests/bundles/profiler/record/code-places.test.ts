import { t } from 'tap'
import { findListenerSite } from '#bundles/profiler/record/code-places.ts'
import type { Profiler } from '#bundles/profiler/record/profiler.ts'
import { createRequestRecorder } from '#bundles/profiler/record/request-recorder.ts'
import { RequestContext } from '#kernel/request-context.ts'
import { createEventDispatcher, Event, type Listener } from '#lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '#lib/event-dispatcher/traceable-event-dispatcher.ts'

class Noted extends Event {
  static readonly eventName = 'noted'
}

t.test('a listener has the place of its registration, as a function or as a method', async t => {
  const tracer = createRequestRecorder({
    profiler: {} as Profiler,
    context: new RequestContext(),
    directory: process.cwd(),
  })
  const dispatcher = new TraceableEventDispatcher(createEventDispatcher(), tracer)
  const lineOf = ({ listener }: { readonly listener: Listener }) =>
    /^tests\/.+\/code-places\.test\.[jt]s:(\d+)$/.exec(String(findListenerSite(listener, process.cwd())?.site))
  dispatcher.on(Noted, () => undefined)
  dispatcher.subscribe(Noted, { onNoted: () => undefined }, 'onNoted', -1)
  const [first, second] = dispatcher.listeners(Noted).map(lineOf)
  t.ok(first && second && Number(first[1]) < Number(second[1]))
  t.equal(
    findListenerSite(() => undefined, process.cwd()),
    undefined,
  )
})
