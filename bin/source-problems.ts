import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { SourceProblem } from '../kernel/bundle.ts'
import { findOwnFrame } from '../lib/stack/locate-frame.ts'
import { readProperty } from '../lib/stack/read-property.ts'
import { parseStack, type StackFrame, toPath } from '../lib/stack/stack-frames.ts'
import { VIEW_TEMPLATE_INVALID } from '../lib/view/errors.ts'
import { describeFailure } from './describe-failure.ts'

const limit = 50

/** The mistakes that have kept an application from starting, or its templates from being read. */
export function toSourceProblems(error: unknown, directory: string): SourceProblem[] {
  if (error instanceof VIEW_TEMPLATE_INVALID) return ofTemplates(error)
  const message = stripVTControlCharacters(describeFailure(error))
  // The calls are in the terminal. The page shows the place and the source below the message, and masks the source.
  const short = message
    .replace(/\n {4}at [\s\S]*/, '')
    .replace(/^\S+:\d+\n(?:.*\n)*?(?=SyntaxError)/, '')
    .slice(0, 4000)
  return [{ message: short, ...(placeOfSetting(message, directory) ?? findPlace(error, directory)) }]
}

/** The message has the mistakes in the order of the frames, which are their places. A mistake may have several lines. */
function ofTemplates(error: Error): SourceProblem[] {
  const frames = parseStack(error).filter(frame => frame.function?.startsWith('template '))
  const texts = error.message.split(/\n(?=\S[^\n]*?\.hbs: )/).slice(1, limit + 1)
  return texts.map((text, index) => {
    const frame = frames[index]
    return frame === undefined ? { message: text } : { message: withoutPlace(text), ...placeOf(frame) }
  })
}

/** The file and the line are shown beside the message, and the source below it. */
function withoutPlace(text: string): string {
  return text.replace(/^\S.*?\.hbs: (?:line \d+: |Parse error on line \d+:\n.*\n-*\^\n)?/, '')
}

type Place = Pick<SourceProblem, 'file' | 'line' | 'column'>

/** `The file "/app/.env" is malformed at line 3`. */
function placeOfSetting(message: string, directory: string): Place | undefined {
  const [, file, line] = /^The file "([^"]+)" is malformed at line (\d+)/.exec(message) ?? []
  return file === undefined ? undefined : { file: path.resolve(directory, file), line: Number(line), column: 1 }
}

/** The place of a syntax error, or the innermost call of the application in the stacks of an error and its causes. */
function findPlace(error: unknown, directory: string): Place {
  const [, syntax, line] = /^(\S+):(\d+)\n/.exec(String(readProperty(error, 'stack'))) ?? []
  if (syntax !== undefined) return { file: toPath(syntax), line: Number(line), column: 1 }
  for (let cause = error, depth = 0; cause !== undefined && depth < 5; cause = readProperty(cause, 'cause'), depth++) {
    const frame = findOwnFrame(cause, directory)
    if (frame !== undefined) return placeOf(frame)
  }
  return {}
}

function placeOf({ column, file, line }: StackFrame): Place {
  return file === undefined ? {} : { file, line: line ?? 1, column: column ?? 1 }
}
