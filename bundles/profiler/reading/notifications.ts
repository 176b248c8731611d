import type { EventNode, EventTree } from './event-tree.ts'

/** A line of the log that nobody had to write: it follows from the event tree. */
export interface Notification {
  /** Microseconds since the pass began. */
  readonly at: number
  readonly message: string
}

/**
 * Derives what Symfony logs of each event: which listeners were told, and who has stopped it. It is logged when the
 * event is over, and so after everything that is nested in it.
 */
export function deriveNotifications({ nodes }: EventTree): Notification[] {
  return nodes
    .filter(({ kind }) => kind === 'dispatch')
    .sort((a, b) => endOf(a) - endOf(b) || b.start - a.start)
    .flatMap(dispatch => dispatch.children.flatMap(call => notificationsOf(dispatch, call)))
}

function notificationsOf(dispatch: EventNode, { isStopped, name }: EventNode): Notification[] {
  const messages = [`Notified event "${dispatch.name}" to listener "${name}".`]
  if (isStopped) messages.push(`Listener "${name}" stopped propagation of the event "${dispatch.name}".`)
  return messages.map(message => ({ at: endOf(dispatch), message }))
}

/** What was not over stands where it began. */
function endOf({ duration = 0, start }: EventNode): number {
  return start + duration
}
