import type { DebugGate } from '../../../kernel/debug-gate.ts'
import { ExceptionEvent, ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { nameProfile } from './name-profile.ts'
import type { Profiler } from './profiler.ts'
import { toServerTiming } from './server-timing.ts'

/** With Symfony's profiler, after the error was logged and before anyone answers it. */
const exceptionPriority = 0

/** When the response is complete but for what only sessions and robots add. Symfony's priority. */
const responsePriority = -100

/** What the listener works with. */
export interface ProfilerListenerServices {
  readonly profiler: Profiler
  readonly debugGate: DebugGate
}

/** Takes note of errors, and names the profile in the response. */
export class ProfilerListener {
  readonly #services: ProfilerListenerServices

  constructor(services: ProfilerListenerServices) {
    this.#services = services
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ExceptionEvent, this, 'onException', exceptionPriority)
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', responsePriority)
  }

  onException({ error, request }: ExceptionEvent): void {
    this.#services.profiler.find(request)?.noteThrown(error)
  }

  onResponse({ isMainRequest, request, response: { headers } }: ResponseEvent): void {
    const { debugGate, profiler } = this.#services
    const pass = profiler.find(request)
    if (pass === undefined || !profiler.keeps(pass) || !debugGate.allows(request)) return
    nameProfile(headers, request, pass.token)
    if (isMainRequest) headers.append('server-timing', toServerTiming(pass))
  }
}
