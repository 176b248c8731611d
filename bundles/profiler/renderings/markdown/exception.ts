import type { RecordedExcerpt, RecordedFrame } from '../../collectors/exception.ts'
import { readExceptions, readExcerpts, type StoredException, toPlace, toRest } from '../../panels/read-exceptions.ts'
import type { Section } from './section.ts'
import { toBlock, toList, toSpan } from './text.ts'

/** So many sources of an error are enough to know where it comes from. */
const excerptLimit = 3

/** What was thrown, with its causes, the frames of the application, and the sources of the first ones. */
export const exceptionSection: Section = {
  panel: 'exception',
  write({ profile }, limit) {
    const exceptions = readExceptions(profile)
    const excerpts = readExcerpts(profile)
    if (exceptions.length === 0) return []
    return ['## Exceptions', ...exceptions.flatMap(exception => writeException(exception, excerpts, limit))]
  },
}

function writeException(exception: StoredException, excerpts: readonly RecordedExcerpt[], limit: number): string[] {
  const { code, frames, message, name, note, relation, status } = exception
  const facts = [
    ...(code === '' ? [] : [`code ${toSpan(code)}`]),
    ...(status === 0 ? [] : [`status ${status}`]),
    ...(note === '' ? [] : [toSpan(note)]),
  ]
  const own = frames.filter(({ origin }) => origin === 'application')
  // Where the application has no part in it, the innermost calls say what failed.
  const shown = own.length > 0 ? own : frames.slice(0, 5)
  const left = [
    ...(shown.length < frames.length ? [`${frames.length - shown.length} frames of others are left out`] : []),
    ...toRest(exception),
  ]
  const sources = shown.flatMap(frame => excerpts.find(({ file, line }) => isAt(frame, file, line)) ?? [])
  return [
    `### ${relation === '' ? '' : `${relation}: `}${toSpan(name)}`,
    ...(facts.length === 0 ? [] : [facts.join(', ')]),
    ...(message === '' ? [] : [toBlock(message)]),
    ...(shown.length === 0
      ? []
      : [toList(shown, limit, frame => `${toSpan(frame.call)} at ${toSpan(toPlace(frame))}`)]),
    ...(left.length === 0 ? [] : [`(${left.join('; ')})`]),
    ...sources.slice(0, excerptLimit).flatMap(writeExcerpt),
  ]
}

function isAt(frame: RecordedFrame, file: string, line: number): boolean {
  return frame.file === file && frame.line === line
}

function writeExcerpt({ file, line, lines, start }: RecordedExcerpt): string[] {
  const code = lines.map((text, index) => {
    const number = start + index
    return `${number === line ? '>' : ' '} ${String(number).padStart(4)} | ${text}`.trimEnd()
  })
  return [`Source of ${toSpan(`${file}:${line}`)}:`, toBlock(code.join('\n'), 'ts')]
}
