import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { AnswerableEvent } from '../../../kernel/events.ts'
import type { Block } from '../../../lib/console/document.ts'
import type { EventClass, EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** Creates the command that lists the listeners of each event. */
export function createDebugEvents(dispatcher: EventDispatcher): ConsoleCommand {
  const typesOf = () => [...dispatcher.types()].filter(type => dispatcher.listeners(type).length > 0)
  return {
    name: 'debug:events',
    description: 'Lists the listeners of each event in the order in which they are called',
    arguments: [
      {
        name: 'event',
        description: 'a part of the name of the event, such as kernel.request, or of its class',
        isOptional: true,
        suggest: () => typesOf().map(type => [type.eventName, `${dispatcher.listeners(type).length} listeners`]),
      },
    ],
    examples: [
      { line: 'debug:events', purpose: 'lists all listeners' },
      { line: 'debug:events kernel.response', purpose: 'lists the listeners of responses, in their order' },
    ],
    run({ arguments: { event = '' } }, output) {
      const types = typesOf()
      const isWanted = (type: EventClass) => [type.eventName, classOf(type)].some(name => name.includes(event))
      const exact = types.filter(({ eventName }) => eventName === event)
      const found = exact.length > 0 ? exact : types.filter(isWanted)
      if (found.length === 0) {
        output.error(`No event with listeners matches "${event}".`)
        return exitCodes.failure
      }
      const events = found.map(type => describe(type, dispatcher))
      output.print({ blocks: events.flatMap(toBlocks), json: events })
      return exitCodes.success
    },
  }
}

interface DescribedEvent {
  readonly event: string
  readonly class: string
  /** What ends the event before later listeners, apart from `stopPropagation()`. */
  readonly isStoppedByResponse: boolean
  readonly listeners: readonly { readonly name: string; readonly priority: number; readonly file?: string }[]
}

function describe(type: EventClass, dispatcher: EventDispatcher): DescribedEvent {
  const listeners = dispatcher.listeners(type).map(registered => {
    const file = dispatcher.originOf(registered)
    return { name: registered.name, priority: registered.priority, ...(file !== undefined && { file }) }
  })
  const isStoppedByResponse = type.prototype instanceof AnswerableEvent
  return { event: type.eventName, class: classOf(type), isStoppedByResponse, listeners }
}

function toBlocks({ class: name, event, isStoppedByResponse, listeners }: DescribedEvent): Block[] {
  const isLocated = listeners.some(({ file }) => file !== undefined)
  const columns = [
    { title: '#', align: 'right' },
    { title: 'Priority', align: 'right', cut: 'never' },
    { title: 'Listener' },
    ...(isLocated ? [{ title: 'Registered in', cut: 'start' } as const] : []),
  ] as const
  const rows = listeners.map(({ file = '', name, priority }, index) => [
    String(index + 1),
    String(priority),
    name,
    ...(isLocated ? [file] : []),
  ])
  const stop = isStoppedByResponse ? '; a response ends it' : ''
  return [
    { kind: 'title', text: `${event} (${name}${stop})` },
    { kind: 'table', table: { columns, rows } },
  ]
}

function classOf(type: EventClass): string {
  return type.prototype.constructor.name
}
