import { type LogLevel, logLevels } from '../../../lib/log/logger.ts'
import type { EventNode, EventTree } from './event-tree.ts'
import type { Profile } from './profile.ts'
import { asNumber, asObject, asObjects, asText } from './read-soft.ts'

/** A log record of a profile. */
export interface StoredLog {
  /** Its place among all that were recorded, also those that make no sense. */
  readonly index: number
  /** Microseconds since the pass began. */
  readonly at: number
  readonly level: LogLevel
  readonly channel: string
  readonly message: string
  /** The constant sentence, where placeholders of it were filled. */
  readonly template: string
  readonly context: Readonly<Record<string, unknown>>
  /** Such as `bundles/site/site-bundle.ts:12`; empty where it is not known. */
  readonly place: string
  /** The function that it was logged in; empty where it is not known. */
  readonly function: string
  readonly isCut: boolean
}

/** Reads what was logged: nothing where there is nothing; records that make no sense are left out. */
export function readLogs({ data }: Profile): { readonly logs: readonly StoredLog[]; readonly dropped: number } {
  const { dropped, records } = asObject(asObject(data).logger)
  return { logs: asObjects(records).flatMap(readLog), dropped: asNumber(dropped) }
}

/** Whether a record tells of an error or of a warning. */
export function severityOf(level: LogLevel): 'plain' | 'warning' | 'error' {
  if (level === 'error' || level === 'critical') return 'error'
  return level === 'warning' ? 'warning' : 'plain'
}

function readLog(
  { at, channel, context, isCut, level, message, site, template }: Record<string, unknown>,
  index: number,
): StoredLog[] {
  const known = logLevels.find(other => other === level)
  if (known === undefined || typeof message !== 'string') return []
  const { file, function: name, line } = asObject(site)
  return [
    {
      index,
      at: asNumber(at),
      level: known,
      channel: asText(channel),
      message,
      template: asText(template),
      context: asObject(context),
      place: asText(file) === '' ? '' : `${asText(file)}:${asNumber(line)}`,
      function: asText(name),
      isCut: isCut === true,
    },
  ]
}

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
