import { isLogError, type LogError } from '../../../../lib/log/record.ts'
import { locateFrame } from '../../../../lib/stack/locate-frame.ts'
import { parseFrames, type StackFrame } from '../../../../lib/stack/stack-frames.ts'
import type { RecordedException, RecordedFrame } from '../../profile/code-data.ts'
import type { LogMessage } from '../../profile/work-data.ts'
import type { TracedLog } from '../log-trace.ts'

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

/** Makes a log message for a profile: errors of its context become exceptions. The logger has masked all of it. */
export function recordLog(log: TracedLog, directory: string): LogMessage {
  const { context = {}, ...rest } = log
  const entries = Object.entries(context)
  const errors = entries.filter((entry): entry is [string, LogError] => isLogError(entry[1]))
  if (errors.length === 0) return log
  const others = entries.filter(([, value]) => !isLogError(value))
  return {
    ...rest,
    ...(others.length > 0 && { context: Object.fromEntries(others) }),
    exceptions: Object.fromEntries(errors.map(([name, error]) => [name, recordError(error, [], directory)])),
  }
}

/** `above` are the lines of the stack of the error above. */
function recordError(error: LogError, above: readonly string[], directory: string): RecordedException {
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
