import { severityOf } from '../../../../lib/log/create-logger.ts'
import { type CallerPlace, choosePlaces } from '../../../../lib/stack/callers.ts'
import { formatCaller } from '../../profile/callers.ts'
import type { EventNode, EventTree } from '../../profile/event-tree.ts'
import { readChain, type StoredException } from '../../profile/exceptions.ts'
import type { JsonObject } from '../../profile/json.ts'
import { oncePerProfile, type Profile } from '../../profile/profile.ts'
import type { LogMessage } from './data.ts'

/** A log message of a profile. */
export interface StoredLog extends Pick<LogMessage, 'at' | 'level' | 'channel' | 'message'> {
  /** Its index among the messages of the request. */
  readonly index: number
  /** The constant sentence; empty where it had no placeholders to fill. */
  readonly template: string
  readonly context: JsonObject
  /** The errors of its context, each with those that it gathers and its causes. */
  readonly exceptions: readonly { readonly name: string; readonly chain: readonly StoredException[] }[]
  /** Such as `bundles/site/site-bundle.ts:12`; empty where it is not known. */
  readonly place: string
  /** The same place with its frames; empty where it is not known. */
  readonly caller: CallerPlace
  readonly isCut: boolean
}

/** Reads the log messages of a profile: empty lists if nothing was recorded. */
export const readLogs = oncePerProfile(collectors => {
  const { dropped = 0, left = [], records = [] } = collectors.logger ?? {}
  const works = records.map(log => ({ caller: log.site, log }))
  const places = choosePlaces(works, () => false)
  return { logs: works.map((work, index) => toLog(work.log, index, places.get(work))), dropped, left }
})

/** Errors come first, then warnings. */
export function rankOf({ level }: StoredLog): number {
  return ['error', 'warning', 'plain'].indexOf(severityOf(level))
}

/** Whether a message reports an exception, which is shown elsewhere. */
export function isReportOf({ exceptions }: StoredLog, thrown: StoredException | undefined): boolean {
  return exceptions.some(({ chain: [first] }) => first?.name === thrown?.name && first?.message === thrown?.message)
}

function toLog(log: LogMessage, index: number, caller: CallerPlace = {}): StoredLog {
  const { at, channel, context = {}, isCut = false, level, message, template = '' } = log
  const place = formatCaller(caller)
  const exceptions = Object.entries(log.exceptions ?? {}).map(([name, error]) => ({ name, chain: readChain(error) }))
  return { index, at, level, channel, message, template, context, exceptions, place, caller, isCut }
}

/** A line of the log that follows from the event tree: it is not stored. */
export interface Notification {
  /** Microseconds since the request began. */
  readonly at: number
  readonly message: string
  /** Without a listener, none was called. */
  readonly context: { readonly event: string; readonly listener?: string }
}

/** The level and the channel of all notifications. */
export const notificationKind: Pick<LogMessage, 'level' | 'channel'> = { level: 'debug', channel: 'event' }

/**
 * Derives what Symfony logs of each event: which listeners were called, and which of them stopped it. An event without
 * a called listener has a line, too. It is logged when the event is over, and so after everything that is nested in it.
 */
export function deriveNotifications({ nodes }: EventTree): Notification[] {
  return nodes
    .filter(({ isOfFramework, kind }) => kind === 'dispatch' && !isOfFramework)
    .sort((a, b) => endOf(a) - endOf(b) || b.start - a.start)
    .flatMap(dispatch => {
      const at = endOf(dispatch)
      const event = dispatch.name
      if (dispatch.children.length === 0)
        return { at, message: `Notified event "${event}" to no listener.`, context: { event } }
      return dispatch.children.flatMap(call => notificationsOf(at, event, call))
    })
}

function notificationsOf(at: number, event: string, { isStopped, name: listener }: EventNode): Notification[] {
  const messages = [`Notified event "${event}" to listener "${listener}".`]
  if (isStopped) messages.push(`Listener "${listener}" stopped propagation of the event "${event}".`)
  return messages.map(message => ({ at, message, context: { event, listener } }))
}

/** The end of an event; its start if it had not ended. */
function endOf({ duration = 0, start }: EventNode): number {
  return start + duration
}

/** A log message, and how often it was logged. */
export interface LogUse {
  readonly level: string
  readonly channel: string
  /** With placeholders, if the message has them: `Query {number} executed`. */
  readonly message: string
  readonly times: number
  /** Where it was logged first; empty if that is not known. */
  readonly caller: CallerPlace
}

/** Reads the log messages by level, channel and template, in the order of their first occurrence. */
export function readLogUses(profile: Profile): Map<string, LogUse> {
  const uses = new Map<string, LogUse>()
  const add = ({ caller, channel, level, message, times }: LogUse) => {
    const key = JSON.stringify([level, channel, message])
    const known = uses.get(key)
    uses.set(key, { level, channel, message, times: (known?.times ?? 0) + times, caller: known?.caller ?? caller })
  }
  const { left, logs } = readLogs(profile)
  for (const { message, template, ...log } of logs) add({ ...log, message: template || message, times: 1 })
  for (const each of left) if (each.message !== '') add({ ...each, caller: {} })
  return uses
}
