import type { Slot } from './statement.ts'

/** A literal of a statement. */
export type Literal = NonNullable<Slot['literal']>

/** A statement whose literals were replaced by empty ones: it has the same tokens, and no values. */
export interface EmptiedStatement {
  /** The statement with `''` and `0` in place of its literals. */
  readonly text: string
  /** In their order. */
  readonly literals: readonly Literal[]
}

/** Characters of a statement that is emptied: a hostile one may take the square of them. */
const lengthLimit = 2000

/** A string or a number that is read in the same way in each dialect, wherever it stands. */
const literal = /(?<![\w.?:@$'"`\\])(?:'(?:[^'\\]|'')*'(?!')|\d+(?:\.\d+)?(?![\w.]))/g

/** Anything else that may be, contain or end a literal or a comment in one of the dialects. */
const unusual = /(?<!')'(?!')|'{3,}|[\w.?:]'|'\w|["`\\$#@[\]{}/\u0080-\uffff]|--|(?<!\w)(?:[1-9]|0[\w.])|[.?:]\d/

/**
 * Empties the literals of a statement without reading its tokens, so that it is recognised if it comes again with other
 * values. `undefined` for a statement whose literals may depend on the dialect: with comments, escapes, or other quotes.
 */
export function emptyLiterals(statement: string): EmptiedStatement | undefined {
  if (statement.length > lengthLimit) return undefined
  const literals: Literal[] = []
  const text = statement.replace(literal, found => {
    const isString = found.startsWith("'")
    literals.push(
      isString ? { kind: 'string', text: found.slice(1, -1).replaceAll("''", "'") } : { kind: 'number', text: found },
    )
    return isString ? "''" : '0'
  })
  return unusual.test(text) ? undefined : { text, literals }
}
