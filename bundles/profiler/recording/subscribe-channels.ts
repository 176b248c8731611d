import { subscribe, unsubscribe } from 'node:diagnostics_channel'

/**
 * Listens to diagnostics channels, each by its name, until the returned function is called. Whoever publishes there
 * may have changed what a message holds: what a listener throws is dropped, because node would end the process for it.
 */
export function subscribeChannels(listeners: Readonly<Record<string, (message: unknown) => void>>): () => void {
  const guarded = Object.entries(listeners).map(([name, listen]): [string, (message: unknown) => void] => [
    name,
    message => {
      try {
        listen(message)
      } catch {
        // The application goes on; the profile has a gap.
      }
    },
  ])
  for (const [name, listener] of guarded) subscribe(name, listener)
  return () => {
    for (const [name, listener] of guarded) unsubscribe(name, listener)
  }
}
