import type { LogError } from '../../../lib/log/create-logger.ts'
import { locateFrame, parseFrames, type StackFrame } from '../../../lib/stack/stack-frames.ts'
import type { RecordedException, RecordedFrame } from '../profile/code.ts'

const textLimit = 200

const pathLimit = 4096

/** Makes a recorded frame of a frame; `mask` masks and cuts its texts. Its file is relative to the directory. */
export function recordFrame(
  frame: StackFrame,
  directory: string,
  mask: (text: string, limit: number) => string,
): RecordedFrame {
  const { file, origin, package: name } = locateFrame(frame, directory)
  const call = `${frame.isAsync ? 'async ' : ''}${frame.function ?? 'anonymous'}`
  return {
    call: mask(call, textLimit),
    ...(file !== undefined && { file: mask(file, pathLimit) }),
    ...(frame.line !== undefined && { line: frame.line }),
    ...(frame.column !== undefined && { column: frame.column }),
    origin,
    ...(name !== undefined && { package: mask(name, textLimit) }),
  }
}

/** `above` are the lines of the stack of the error above. */
export function recordError(error: LogError, above: readonly string[], directory: string): RecordedException {
  const { cause, errors, stack, ...rest } = error
  const lines = stack === '' ? [] : stack.split('\n')
  const common = countCommon(lines, above, (one, other) => one === other)
  const own = lines.slice(0, lines.length - common)
  return {
    ...rest,
    frames: parseFrames(own).map(frame => recordFrame(frame, directory, text => text)),
    ...(common > 0 && { common }),
    ...(errors && { errors: errors.map(inner => recordError(inner, lines, directory)) }),
    ...(cause && { cause: recordError(cause, lines, directory) }),
  }
}

/** Counts the outermost calls that a stack has in common with the stack of the error above. */
export function countCommon<call>(
  calls: readonly call[],
  above: readonly call[],
  isSame: (one: call | undefined, other: call | undefined) => boolean,
): number {
  let common = 0
  const limit = Math.min(calls.length, above.length)
  while (common < limit && isSame(calls.at(-1 - common), above.at(-1 - common))) common++
  return common
}
