import { listNodes } from './check-templates.ts'

/**
 * Writes the name of the file into the lines of a syntax tree of Handlebars, before it is compiled: the errors of
 * Handlebars name only the line, although it may be one of a partial. A render costs no time for it.
 */
export function locateNodes<tree>(tree: tree, file: string): tree {
  // Two nodes may have the same location.
  for (const { start } of new Set(listNodes(tree).flatMap(({ loc }) => loc ?? []))) {
    // Handlebars copies the line into its error and into the options of a helper. It does not count with it.
    Object.assign(start, { line: `${file}: line ${start.line}` })
  }
  return tree
}

/** A failed call of a helper. */
export class HelperFailure {
  /** What the helper has thrown. */
  readonly thrown: unknown
  readonly place: string

  /** `location` is that of Handlebars for the call. */
  constructor(thrown: unknown, location: HelperLocation) {
    this.thrown = thrown
    this.place = location.start.line
  }
}

/** The location of a helper's call, in the options that Handlebars passes to the helper. */
export interface HelperLocation {
  readonly start: { readonly line: string }
}

/** What was thrown during a render, and the reason in words, after the file and the line if they are known. */
export function explainFailure(failure: unknown): { readonly thrown: unknown; readonly reason: string } {
  if (failure instanceof HelperFailure) {
    const { place, thrown } = failure
    return { thrown, reason: `${place}: ${messageOf(thrown)}` }
  }
  const message = messageOf(failure)
  const { column, lineNumber } = Object(failure) as { readonly column?: unknown; readonly lineNumber?: unknown }
  if (lineNumber === undefined) return { thrown: failure, reason: message }
  const words = message
    .replace(` - ${lineNumber}:${column}`, '')
    .replace('not defined in [object Object]', 'is not defined')
  return { thrown: failure, reason: `${lineNumber}: ${words}` }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
