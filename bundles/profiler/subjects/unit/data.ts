import * as v from 'valibot'
import { codePlace } from '../../profile/code.ts'
import { amount, check, maybe, text, texts, treeSchema } from '../../profile/schema.ts'

/** What is recorded of work that is no request, beside what it has done. */
export type UnitData = v.InferOutput<typeof unitSchema>

export const unitSchema = v.object({
  /** The data of a job, the content of a message, the arguments of a command. */
  input: maybe(treeSchema),
  /** What it has returned. */
  result: maybe(treeSchema),
  job: maybe(
    v.object({
      queue: text,
      id: text,
      /** The first one is 1. */
      attempt: maybe(check.count),
      /** How many there are at most. */
      attempts: maybe(check.count),
      /** Milliseconds from the time at which it could begin to its beginning. */
      waited: maybe(amount),
    }),
  ),
  /**
   * Of a job: how many jobs of its name with the same data, itself included, have begun in this
   * process within a minute.
   */
  sameJobs: maybe(check.count),
  /** How a message has come. */
  message: maybe(
    v.object({
      /** The same for all messages of a connection. */
      connection: text,
      /** The name of its event, if it has one. */
      event: maybe(text),
      bytes: maybe(check.count),
    }),
  ),
  /** Of a command. */
  exitCode: maybe(check.count),
  /** Of a command that has failed: the line of the application that has called `process.exit`. */
  exit: maybe(codePlace),
  /** Of a command: the signal that has ended it. */
  signal: maybe(text),
  /** Of a command: whether the profile ends before it did. */
  isCut: maybe(v.boolean()),
  /** What a command that has exited has left open: `2 timers`. */
  open: maybe(texts),
})
