import type { StackFrame } from './parse-stack.ts'

/** Writes a frame as V8 does: `at async Router.match (/app/lib/routing/router.ts:12:7)`. */
export function formatFrame(frame: StackFrame): string {
  const place = frame.file === undefined ? '<anonymous>' : `${frame.file}:${frame.line}:${frame.column}`
  const call = frame.function === undefined ? place : `${frame.function} (${place})`
  return frame.isAsync ? `at async ${call}` : `at ${call}`
}
