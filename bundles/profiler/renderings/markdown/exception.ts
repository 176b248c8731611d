import type { RecordedExcerpt, RecordedFrame } from '../../collectors/exception.ts'
import { readExceptions, readExcerpts, type StoredException, toPlace, toRest } from '../../reading/read-exceptions.ts'
import type { Section } from './section.ts'
import { toBlock, toList, toSpan } from './text.ts'

/** So many sources are enough to know where it comes from. */
const excerptLimit = 5

/** What was thrown, with its causes, the frames of the application, and their sources. */
export const exceptionSection: Section = {
  panel: 'exception',
  write({ profile }, limit) {
    const exceptions = readExceptions(profile)
    if (exceptions.length === 0) return []
    const sources = new Sources(readExcerpts(profile))
    return ['## Exceptions', ...exceptions.flatMap(exception => writeException(exception, sources, limit))]
  },
}

function writeException(exception: StoredException, sources: Sources, limit: number): string[] {
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
  return [
    `### ${relation === '' ? '' : `${relation}: `}${toSpan(name)}`,
    ...(facts.length === 0 ? [] : [facts.join(', ')]),
    ...(message === '' ? [] : [toBlock(message)]),
    ...(shown.length === 0
      ? []
      : [toList(shown, limit, frame => `${toSpan(frame.call)} at ${toSpan(toPlace(frame))}`)]),
    ...(left.length === 0 ? [] : [`(${left.join('; ')})`]),
    ...shown.flatMap(frame => sources.take(frame)).flatMap(writeExcerpt),
  ]
}

/** The sources of all exceptions: each is shown once, and stands for those near it. */
class Sources {
  readonly #excerpts: readonly RecordedExcerpt[]
  readonly #taken: RecordedExcerpt[] = []

  constructor(excerpts: readonly RecordedExcerpt[]) {
    this.#excerpts = excerpts
  }

  /** The source around a call, unless it is not known, or one that was taken shows that line as well. */
  take({ file, line = 0 }: RecordedFrame): RecordedExcerpt[] {
    const isTaken = this.#taken.some(
      ({ file: other, lines, start }) => other === file && line >= start && line < start + lines.length,
    )
    const excerpt = this.#excerpts.find(other => other.file === file && other.line === line)
    if (isTaken || excerpt === undefined || this.#taken.length === excerptLimit) return []
    this.#taken.push(excerpt)
    return [excerpt]
  }
}

function writeExcerpt({ file, line, lines, start }: RecordedExcerpt): string[] {
  const code = lines.map((text, index) => {
    const number = start + index
    return `${number === line ? '>' : ' '} ${String(number).padStart(4)} | ${text}`.trimEnd()
  })
  return [`Source of ${toSpan(`${file}:${line}`)}:`, toBlock(code.join('\n'), 'ts')]
}
