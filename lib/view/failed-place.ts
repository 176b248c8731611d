import path from 'node:path'
import { createHandlebars } from './handlebars.ts'
import { readTemplate, type TemplateFile } from './template-files.ts'
import type { TemplatePlace } from './template-frames.ts'
import { findCall, listNodes } from './template-uses.ts'

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
  readonly lineNumber: string
  readonly column: number

  /** `location` is that of Handlebars for the call. */
  constructor(thrown: unknown, { start }: HelperLocation) {
    this.thrown = thrown
    this.lineNumber = start.line
    this.column = start.column
  }
}

/** The location of a helper's call, in the options that Handlebars passes to the helper. */
export interface HelperLocation {
  readonly start: { readonly line: string; readonly column: number }
}

/** Why a page cannot be rendered. */
export interface RenderFailure {
  /** The reason in words, after the file and the line if they are known. */
  readonly reason: string
  /** What was thrown by a helper, or at an unknown place. */
  readonly cause: unknown
  /** The place in a template whose text has failed; `undefined` if it is not known. The column is from 1. */
  readonly place: Omit<TemplatePlace, 'name'> | undefined
}

/** Explains what was thrown during a render; `root` is the directory to which the names of files are relative. */
export function explainFailure(failure: unknown, root: string): RenderFailure {
  const { column, lineNumber } = Object(failure) as { readonly column?: unknown; readonly lineNumber?: unknown }
  const [, file, line] = /^(.*): line (\d+)$/s.exec(String(lineNumber)) ?? []
  if (file === undefined) return { reason: messageOf(failure), cause: failure, place: undefined }
  const place = { file: path.resolve(root, file), line: Number(line), column: Number(column) + 1 }
  if (failure instanceof HelperFailure) {
    const { thrown } = failure
    return { reason: `${lineNumber}: ${messageOf(thrown)}`, cause: thrown, place }
  }
  const words = messageOf(failure)
    .replace(` - ${lineNumber}:${column}`, '')
    .replace('not defined in [object Object]', 'is not defined')
  // The error of Handlebars says nothing more.
  return { reason: `${lineNumber}: ${words}`, cause: undefined, place }
}

/** The places in which the templates of a failed render call each other, innermost first, where they are unambiguous. */
export function findCallers(names: readonly string[], files: readonly TemplateFile[]): TemplatePlace[] {
  if (names.length < 2) return []
  const { parseWithoutProcessing } = createHandlebars()
  const called = new Map(names.slice(1).map((name, index) => [name, names[index] ?? '']))
  return files
    .filter(({ name }) => called.has(name))
    .sort((one, other) => names.indexOf(one.name) - names.indexOf(other.name))
    .flatMap(template => {
      try {
        return findCall(parseWithoutProcessing(readTemplate(template.file)), called.get(template.name) ?? '', template)
      } catch {
        // The file has changed since it was loaded.
        return []
      }
    })
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
