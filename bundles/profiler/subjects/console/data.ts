import * as v from 'valibot'
import { codePlace } from '../../profile/code.ts'
import { check, count, list, maybe, oneOf, treeSchema } from '../../profile/schema.ts'

/** The functions whose values the Console panel shows: `dump`, and methods of `console`. */
const consoleMethods = ['dump', 'log', 'info', 'warn', 'error', 'debug', 'table', 'trace', 'dir'] as const

/** One of {@link consoleMethods}. */
export type ConsoleMethod = (typeof consoleMethods)[number]

/** The calls of `dump` and of `console`. */
export type ConsoleData = v.InferOutput<typeof consoleSchema>

/** A call of `dump`, or of a method of `console`. */
export type ConsoleEntry = ConsoleData['entries'][number]

export const consoleSchema = v.object({
  /** In their order. */
  entries: list(
    v.object({
      /** Microseconds since the request began. */
      at: count,
      method: oneOf(consoleMethods),
      /** The label of a dump. */
      label: maybe(check.text),
      /** The value of a dump. Of `console`, the formatted text, and the values after it. */
      values: list(treeSchema),
      /** The place of the call in the application. */
      site: maybe(codePlace),
      /** Of `console.trace`: the calls of the application that have led there, innermost first. */
      callers: maybe(list(codePlace)),
    }),
  ),
  /** How many were only counted because there were too many, or too much text. */
  omitted: count,
  /**
   * All calls by their kind: of `dump`, of two methods of `console`, and of its others. Absent if
   * none was only counted, and in profiles of 0.3.
   */
  callsByKind: maybe(v.object({ dump: count, error: count, warn: count, plain: count })),
})
