import {
  ControllerArgumentsEvent,
  ControllerEvent,
  FinishRequestEvent,
  RequestEvent,
  ResponseEvent,
  TerminateEvent,
} from '../../dist/kernel/events.js'
import { createEventDispatcher } from '../../dist/lib/event-dispatcher/event-dispatcher.js'
import { Request } from '../../dist/lib/http/request.js'
import { Response } from '../../dist/lib/http/response.js'
import { bootKernel } from '../boot-kernel.js'
import { measureFunctions } from '../measure-functions.js'

/** More calls than requests: one takes a few microseconds at most. */
const callsPerRequest = 5

/**
 * Telling the events of a page to as many listeners as a production kernel has, none of which is asynchronous.
 *
 * @type {import('../report.js').Claim}
 */
export const dispatcher = {
  title: 'The events of one request: awaiting only what is pending, and awaiting each listener',
  unit: 'CPU ns/request',
  comparisons: [
    {
      name: 'awaiting each listener / awaiting what is pending',
      numerator: 'awaiting each listener',
      denominator: 'awaiting what is pending',
    },
  ],
  async measure({ rounds, requests }) {
    const kernel = await bootKernel()
    const createEvents = eventsOf(kernel.app.kernel)
    const events = createEvents()
    const listening = createListening(kernel.app.dispatcher, events)

    const functions = {
      async 'awaiting what is pending'() {
        for (const event of events) {
          const pending = listening.dispatch(event)
          if (pending !== undefined) await pending
        }
      },
      async 'awaiting each listener'() {
        for (const event of events) await dispatchSlowly(listening, event)
      },
      'making the events': createEvents,
    }
    const measured = await measureFunctions(functions, { rounds, calls: requests * callsPerRequest })
    await kernel.close()
    return measured
  },
}

/** @typedef {import('../../dist/lib/event-dispatcher/event-dispatcher.js').EventDispatcher} EventDispatcher */
/** @typedef {import('../../dist/lib/event-dispatcher/event-dispatcher.js').Event} Event */
/** @typedef {import('../../dist/lib/event-dispatcher/event-dispatcher.js').EventClass} EventClass */

/** @param {import('../../dist/kernel/http-kernel.js').HttpKernel} kernel */
function eventsOf(kernel) {
  const request = new Request({ target: '/' })
  const response = new Response()
  const controller = { name: 'page', arguments: [], call: () => response }
  return () => [
    new RequestEvent(kernel, request),
    new ControllerEvent(kernel, request, controller),
    new ControllerArgumentsEvent(kernel, request, controller, []),
    new ResponseEvent(kernel, request, response),
    new FinishRequestEvent(kernel, request),
    new TerminateEvent(kernel, request, response),
  ]
}

/**
 * Makes a dispatcher that has for each event as many listeners as the real one, which do nothing.
 *
 * @param {EventDispatcher} real
 * @param {readonly Event[]} events
 */
function createListening(real, events) {
  const listening = createEventDispatcher()
  const listener = () => undefined
  for (const event of events) {
    const type = typeOf(event)
    for (const { priority } of real.listeners(type)) listening.on(type, listener, priority)
  }
  return listening
}

/**
 * The obvious way, kept to compare with.
 *
 * @param {EventDispatcher} listening
 * @param {Event} event
 */
async function dispatchSlowly(listening, event) {
  for (const { listener } of listening.listeners(typeOf(event))) {
    if (event.isPropagationStopped) return
    await listener(event)
  }
}

/** @param {Event} event */
function typeOf(event) {
  return /** @type {EventClass} */ (/** @type {unknown} */ (event.constructor))
}
