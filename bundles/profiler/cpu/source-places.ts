import { findSourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/** A place in a file as it was written. */
export interface SourcePlace {
  /** A whole path, or Node's name for what is no file of the project: `node:fs`. */
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** What a source map says of a place, where it says anything. */
interface MappedPlace {
  readonly originalSource: string
  readonly originalLine: number
  readonly originalColumn: number
}

/**
 * Finds where a place of the code that runs (from 0, as V8 counts them) was written, by the source map that Node has
 * read with the module. Without one it is the place itself; `undefined` for what has no file.
 */
export function findSource(url: string, line: number, column: number): SourcePlace | undefined {
  if (url === '' || line < 0) return undefined
  const map = url.startsWith('node:') ? undefined : findSourceMap(url)
  const {
    originalColumn = 0,
    originalLine = 0,
    originalSource,
  }: Partial<MappedPlace> = map?.findEntry(line, column) ?? {}
  if (originalSource === undefined) return { file: toPath(url), line: line + 1, column: column + 1 }
  return { file: toPath(originalSource), line: originalLine + 1, column: originalColumn + 1 }
}

function toPath(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url
}
