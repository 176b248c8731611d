import * as v from 'valibot'
import type { ValueTree } from '../../../lib/redact/value-tree.ts'
import type { CodePlace } from '../../../lib/stack/callers.ts'
import { amount, check, list, maybe, number, oneOf, type Schema } from './schema.ts'
import { codePlace } from './work-data.ts'

/** The functions whose values the Console panel shows: `dump`, and methods of `console`. */
export const consoleMethods = ['dump', 'log', 'info', 'warn', 'error', 'debug', 'table', 'trace', 'dir'] as const

/** One of {@link consoleMethods}. */
export type ConsoleMethod = (typeof consoleMethods)[number]

/** The calls of `dump` and of `console`. */
export interface ConsoleData {
  /** In their order. */
  readonly entries: readonly ConsoleEntry[]
  /** How many were only counted because there were too many, or too much text. */
  readonly omitted: number
}

/** A call of `dump`, or of a method of `console`. */
export interface ConsoleEntry {
  /** Microseconds since the request began. */
  readonly at: number
  readonly method: ConsoleMethod
  /** The label of a dump. */
  readonly label?: string | undefined
  /** The value of a dump. Of `console`, the formatted text, and the values after it. */
  readonly values: readonly ValueTree[]
  /** The place of the call in the application. */
  readonly site?: CodePlace | undefined
  /** Of `console.trace`: the calls of the application that have led there, innermost first. */
  readonly callers?: readonly CodePlace[] | undefined
}

/** The schema of a tree. Trees are at most as deep as their writer made them, and a profile has its own limit of depth. */
export const treeSchema: Schema<ValueTree> = v.object({
  kind: oneOf(['note', 'text', 'value', 'object']),
  text: check.text,
  entries: maybe(list(v.object({ name: check.text, value: v.lazy(() => treeSchema) }))),
  omitted: maybe(check.amount),
})

export const consoleSchema: Schema<ConsoleData> = v.object({
  entries: list(
    v.object({
      at: number,
      method: oneOf(consoleMethods),
      label: maybe(check.text),
      values: list(treeSchema),
      site: maybe(codePlace),
      callers: maybe(list(codePlace)),
    }),
  ),
  omitted: amount,
})
