import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { guard } from './guard.ts'
import type { Caller, Callers } from './stack/callers.ts'

/** Listeners of diagnostics channels, by their names. */
export type ChannelListeners = Readonly<Record<string, (message: unknown) => void>>

/**
 * Subscribes to diagnostics channels by name, until the returned function is called. A later version of a library may
 * change its messages: an error of a listener is reported, because node would end the process for it.
 */
export function subscribeChannels(listeners: ChannelListeners): () => void {
  const guarded = Object.entries(listeners).map(([name, listen]) => [name, guard(name, listen)] as const)
  for (const [name, listener] of guarded) subscribe(name, listener)
  return () => {
    for (const [name, listener] of guarded) unsubscribe(name, listener)
  }
}

/** A message has the documented shape. If a later version changes it, the guard of the channel catches the error. */
export function listenTo<Message>(take: (message: Message) => void): (message: unknown) => void {
  // Not in another function, which would be one more frame to read for each search on the stack.
  return take as (message: unknown) => void
}

/**
 * Creates the search for the code that calls a library, for the listeners of a channel of the library. The frames of the
 * listeners, up to the function of Node that calls them, are not read.
 */
export function createCallerSearch(callers: Callers, name: string): () => Caller | undefined {
  const source = channel(name)
  // A channel gets another `publish` with its first listener.
  return () => callers.find(source.publish)
}
