import path from 'node:path'
import { locateFrame, parseStack, type StackFrame } from '../../../lib/stack/stack-frames.ts'

/** A place in the source. */
export interface CallSite {
  /** Relative to the project. */
  readonly file: string
  readonly line: number
  /** The function that it lies in. */
  readonly function?: string
}

/** Like the kernel, it is what the application is built upon: a line logged there is news of whoever has called it. */
const own = path.join('bundles', 'profiler') + path.sep

const frameLimit = 40

/**
 * Finds which code of the application has led here: the innermost frame within the project that is neither a package's
 * nor `lib/`, `kernel/` or the profiler; `undefined` when there is none. Costs tens of microseconds, and more where
 * source maps are applied.
 */
export function findCallSite(directory: string): CallSite | undefined {
  for (const frame of captureStack()) {
    const { function: name, line } = frame
    const { file, origin } = locateFrame(frame, directory)
    if (origin !== 'application' || file === undefined || line === undefined || file.startsWith(own)) continue
    return { file, line, ...(name !== undefined && { function: name }) }
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
