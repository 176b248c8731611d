import path from 'node:path'
import { parseStack, type StackFrame } from '../../lib/stack/parse-stack.ts'

/** A place in the source. */
export interface CallSite {
  /** Relative to the project, where it lies within. */
  readonly file: string
  readonly line: number
  /** The function that it lies in. */
  readonly function?: string
}

/** What the application is built upon: a line that is logged there is news of whoever has called it. */
const foundations = ['lib', 'kernel', 'bundles/profiler'].map(path.normalize)

const frameLimit = 40

/**
 * Finds which code of the application has led here: the innermost frame that is neither a package's nor `lib/`,
 * `kernel/` or the profiler; `undefined` when there is none. Costs tens of microseconds, and more where source maps are
 * applied.
 */
export function findCallSite(directory: string): CallSite | undefined {
  for (const { file, function: name, line, origin } of captureStack()) {
    if (origin !== 'application' || file === undefined || line === undefined) continue
    const relative = toRelative(file, directory)
    if (foundations.some(folder => relative.startsWith(`${folder}${path.sep}`))) continue
    return { file: relative, line, ...(name !== undefined && { function: name }) }
  }
  return undefined
}

function captureStack(): readonly StackFrame[] {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = frameLimit
  const frames = parseStack(new Error())
  Error.stackTraceLimit = stackTraceLimit
  return frames
}

/** Compiled code lies in `dist/` as its source lies in the project; without source maps it is all there is. */
function toRelative(file: string, directory: string): string {
  const relative = path.relative(directory, file)
  if (relative.startsWith('..') || path.isAbsolute(relative)) return file
  const compiled = `dist${path.sep}`
  return relative.startsWith(compiled) ? relative.slice(compiled.length) : relative
}
