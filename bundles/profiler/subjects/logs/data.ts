import * as v from 'valibot'
import { logLevels } from '../../../../lib/log/logger.ts'
import { caller, recordedException } from '../../profile/code.ts'
import { check, count, list, maybe, text } from '../../profile/schema.ts'

/** The log messages of a request. */
export type LoggerData = v.InferOutput<typeof loggerSchema>

/** A log message. */
export type LogMessage = LoggerData['records'][number]

/** Messages that were not kept, and have the same level, channel and template. */
export type LeftMessages = v.InferOutput<typeof left>

const left = v.object({
  level: v.picklist(logLevels),
  /** Empty if there were too many different ones to count each; so is the message. */
  channel: text,
  /** With its placeholders, if it has them; at most 200 characters. */
  message: text,
  times: count,
})

/** A message without its level or its text is left out. */
export const loggerSchema = v.object({
  records: list(
    v.object({
      /** Microseconds since the request began. */
      at: count,
      level: v.picklist(logLevels),
      channel: text,
      /** With its placeholders filled. */
      message: check.text,
      /** The constant sentence, where it had placeholders to fill. */
      template: maybe(check.text),
      context: maybe(check.object),
      /** The errors of its context, by their names in it. */
      exceptions: maybe(v.record(v.string(), recordedException)),
      /**
       * Where it was logged; of warnings and above, except for those about an error, which has a
       * place of its own, and of the message with which the request has logged too much.
       */
      site: maybe(caller),
      /** Whether the context, and the end of a long message, were left out: there was too much text before it. */
      isCut: maybe(v.literal(true)),
    }),
  ),
  /** How many messages were not kept. Of each severity, the first and the last ones are kept. */
  dropped: count,
  /** The messages that were not kept, counted by level, channel and message. */
  left: maybe(list(left)),
})
