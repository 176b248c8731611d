import { writeErrorPrompt } from '../../export/conclusions.ts'
import { toBlock, toList, toSpan, writeLine } from '../../export/markdown-text.ts'
import { writeReason } from '../../insight/overview/answer.ts'
import { viewExceptions } from '../../panels/exceptions.ts'
import { viewOccurrences, viewVerification } from '../../panels/parts.ts'
import type { SubjectView } from '../../panels/subject-view.ts'
import { cutText, item, limitRows, row } from '../../panels/toolbar-items.ts'
import { viewTrailBefore } from '../../panels/trail.ts'
import type { RecordedFrame } from '../../profile/code.ts'
import {
  findThrowPlace,
  readExceptions,
  readExcerpts,
  type StoredException,
  toPlace,
  toRest,
} from '../../profile/exceptions.ts'
import { formatSize } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Excerpt } from '../../profile/schema.ts'

/** The exceptions with their causes, their stacks, and their sources. */
export const exceptionView: SubjectView = {
  name: 'exception',
  label: 'Exception',
  template: 'profiler/panels/exception',
  hasContent: ({ profile }) => readExceptions(profile).length > 0,

  badge({ profile }) {
    const { length } = readExceptions(profile)
    return { text: length === 0 ? '' : String(length), level: 'error' }
  },

  toView: async ({ findOccurrences, profile }, { editor }) => ({
    isCrash: profile.summary.outcome === 'crashed',
    cut: profile.summary.outcome === 'stream-failed' ? formatSize(profile.collectors.response?.sent ?? 0) : '',
    occurrences: viewOccurrences(findOccurrences(profile)),
    prompt: writeErrorPrompt(profile, profile.summary.token),
    verification: profile.summary.exception !== null && viewVerification(profile, 'exception'),
    trail: viewTrailBefore(profile, editor, { limit: 20, table: 'trail' }),
    trace: readExceptions(profile).map(toTrace).join('\n\n'),
    ...viewExceptions(profile, editor),
  }),

  toMarkdown({ profile }, limit) {
    const exceptions = readExceptions(profile)
    if (exceptions.length === 0) return []
    const sources = new Sources(readExcerpts(profile))
    const { fingerprint } = profile.summary
    return [
      '## Exceptions',
      ...(fingerprint === null ? [] : [`Fingerprint: ${toSpan(fingerprint)}; the list can be filtered by it.`]),
      ...exceptions.flatMap(exception => writeException(exception, sources, limit)),
    ]
  },

  toItems({ editor, overview: { reason }, profile, summary }) {
    const { exception } = profile.summary
    if (exception === null) return []
    const link = profileLink(summary.token, 'exception')
    const place = editor.viewCaller(findThrowPlace(profile))
    const rows = (profile.collectors.exception?.exceptions ?? []).map(({ message, name }, index) =>
      row(name || 'Error', cutText(message), { link, tone: 'error', place: index === 0 && place }),
    )
    const text = reason?.panel === 'exception' ? writeReason(reason, exception) : exception
    return [item(exceptionView, { order: 20, text, tone: 'error', link, rows: limitRows(rows, link) })]
  },

  onErrorPage: {
    toView({ profile }, { editor }) {
      const { crumbs, exceptions } = viewExceptions(profile, editor)
      const frames = exceptions.flatMap(({ groups }) => groups.flatMap(({ frames }) => frames))
      const open = frames.filter(({ isOpen }) => isOpen)
      const first = open.find(({ origin }) => origin === 'application') ?? open[0]
      return {
        first: first ?? false,
        // Of a chain, the last one.
        cause: crumbs.length > 0 && (exceptions.at(-1) ?? false),
        crumbs,
        // The page begins with the source.
        exceptions: exceptions.map(exception => ({
          ...exception,
          groups: exception.groups.map(({ frames, label }) => ({
            label,
            frames: frames.map(frame => (frame === first ? { ...frame, lines: [] } : frame)),
          })),
        })),
      }
    },
  },
}

/** Writes an exception as plain text, for a report or a search. */
function toTrace({ name, message, properties, relation, frames, ...left }: StoredException): string {
  const head = `${relation === '' ? '' : `${relation}: `}${name}${message === '' ? '' : `: ${message}`}`
  const calls = frames.map(frame => `    at ${frame.call} (${toPlace(frame)})`)
  const facts = properties.map(({ name, value }) => `    ${name}: ${value.replaceAll('\n', '\n    ')}`)
  return [head, ...facts, ...calls, ...toRest(left).map(rest => `    … ${rest}`)].join('\n')
}

/** The maximal number of source excerpts. */
const excerptLimit = 5

function writeException(exception: StoredException, sources: Sources, limit: number): string[] {
  const { code, frames, message, name, note, properties, relation, status } = exception
  const facts = [
    ...(code === '' ? [] : [`code ${toSpan(code)}`]),
    ...(status === 0 ? [] : [`status ${status}`]),
    ...(note === '' ? [] : [toSpan(note)]),
  ]
  const own = frames.filter(({ origin }) => origin === 'application')
  // Without frames of the application, the innermost ones of packages are shown.
  const shown = own.length > 0 ? own : frames.filter(({ origin }) => origin !== 'kernel').slice(0, 5)
  const left = [
    ...(shown.length < frames.length ? [`${frames.length - shown.length} library frames are not listed`] : []),
    ...toRest(exception),
  ]
  return [
    `### ${relation === '' ? '' : `${relation}: `}${toSpan(name)}`,
    ...(facts.length === 0 ? [] : [facts.join(', ')]),
    ...(message === '' ? [] : [toBlock(message)]),
    ...(properties.length === 0
      ? []
      : [toList(properties, limit, ({ name, value }) => `${toSpan(name)}: ${toSpan(value)}`)]),
    ...(shown.length === 0
      ? []
      : [toList(shown, limit, frame => `${toSpan(frame.call)} at ${toSpan(toPlace(frame))}`)]),
    ...(left.length === 0 ? [] : [`(${left.join('; ')})`]),
    ...shown.flatMap(frame => sources.take(frame)).flatMap(writeExcerpt),
  ]
}

/** The source excerpts of all exceptions. Each is shown once, also for other frames that it covers. */
class Sources {
  readonly #excerpts: readonly Excerpt[]
  readonly #taken: Excerpt[] = []

  constructor(excerpts: readonly Excerpt[]) {
    this.#excerpts = excerpts
  }

  /** Returns the excerpt for a frame; none if it is unknown, or if a previous excerpt contains the line. */
  take({ file, line = 0 }: RecordedFrame): Excerpt[] {
    const isTaken = this.#taken.some(
      ({ file: other, lines, start }) => other === file && line >= start && line < start + lines.length,
    )
    const excerpt = this.#excerpts.find(other => other.file === file && other.line === line)
    if (isTaken || excerpt === undefined || this.#taken.length === excerptLimit) return []
    this.#taken.push(excerpt)
    return [excerpt]
  }
}

function writeExcerpt({ file, line, lines, start }: Excerpt): string[] {
  const code = lines.map((text, index) => writeLine(text, start + index, line))
  return [`Source of ${toSpan(`${file}:${line}`)}:`, toBlock(code.join('\n'), 'ts')]
}
