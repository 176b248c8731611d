import type { RecordedException, RecordedExcerpt, RecordedFrame } from '../collectors/exception.ts'
import type { Profile } from '../profile.ts'
import type { PanelSubject, ProfilePanel } from './panel.ts'
import { asNumber, asObject, asObjects, asOptionalNumber, asText, asTexts } from './read-soft.ts'

/** Shows what was thrown: the error that was seen first, its causes below it, with stacks and sources. */
export const exceptionPanel: ProfilePanel = {
  name: 'exception',
  label: 'Exception',
  template: 'profiler/panels/exception',
  hasContent: profile => readExceptions(profile).length > 0,
  badge(profile) {
    const { length } = readExceptions(profile)
    return { text: length === 0 ? '' : String(length), level: 'error' }
  },
  toView: ({ profile }: PanelSubject) => {
    const exceptions = readExceptions(profile)
    const excerpts = readExcerpts(profile)
    return {
      exceptions: exceptions.map((exception, index) => toView(exception, index, excerpts)),
      // The cause first, as the story went.
      crumbs: exceptions.length > 1 ? exceptions.map(({ name }, index) => ({ name, id: idOf(index) })).reverse() : [],
      isCrash: profile.summary.outcome === 'crashed',
      trace: exceptions.map(toTrace).join('\n\n'),
    }
  },
}

/** How an exception has come to be in the list. */
const relations = { first: '', later: 'Thrown later', gathered: 'Gathered', cause: 'Caused by' } as const

type Exception = Omit<Required<RecordedException>, 'cause' | 'errors' | 'code'> & {
  readonly relation: (typeof relations)[keyof typeof relations]
  readonly code: string
}

const countLimit = 100

function readExceptions({ data }: Profile): Exception[] {
  const [first, ...later] = asObjects(asObject(data.exception).exceptions)
  if (first === undefined) return []
  const all = [...readChain(first, relations.first), ...later.flatMap(error => readChain(error, relations.later))]
  return all.slice(0, countLimit)
}

function readChain(error: Readonly<Record<string, unknown>>, relation: Exception['relation']): Exception[] {
  const { code } = error
  const name = asText(error.name)
  const exception: Exception = {
    relation,
    name: name || 'Error',
    message: asText(error.message),
    // Errors of a catalogue are named by their code.
    code: typeof code === 'number' ? String(code) : asText(code === name ? '' : code),
    status: asNumber(error.status),
    frames: asObjects(error.frames).map(readFrame),
    common: asNumber(error.common),
    omitted: asNumber(error.omitted),
    note: asText(error.note),
  }
  const gathered = asObjects(error.errors).flatMap(inner => readChain(inner, relations.gathered))
  const cause = error.cause === undefined ? [] : readChain(asObject(error.cause), relations.cause)
  return [exception, ...gathered, ...cause]
}

const origins: readonly RecordedFrame['origin'][] = ['application', 'kernel', 'vendor']

function readFrame(frame: Readonly<Record<string, unknown>>): RecordedFrame {
  const line = asOptionalNumber(frame.line)
  const column = asOptionalNumber(frame.column)
  return {
    call: asText(frame.call),
    file: asText(frame.file),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    origin: origins.find(origin => origin === frame.origin) ?? 'runtime',
  }
}

function readExcerpts({ data }: Profile): RecordedExcerpt[] {
  return asObjects(asObject(data.exception).excerpts).map(({ file, line, start, lines }) => ({
    file: asText(file),
    line: asNumber(line),
    start: asNumber(start),
    lines: asTexts(lines),
  }))
}

function idOf(index: number): string {
  return `exception-${index + 1}`
}

function toView({ frames, common, omitted, ...exception }: Exception, index: number, excerpts: RecordedExcerpt[]) {
  const sources = frames.map(frame => excerpts.find(({ file, line }) => file === frame.file && line === frame.line))
  const open = sources.findIndex(source => source !== undefined)
  return {
    ...exception,
    id: idOf(index),
    isFirst: index === 0,
    frames: frames.map((frame, position) => ({
      call: frame.call,
      place: toPlace(frame),
      origin: frame.origin,
      isOpen: position === open,
      lines: toLines(sources[position]),
    })),
    rest: toRest({ common, omitted }).join('; '),
  }
}

function toLines(excerpt: RecordedExcerpt | undefined) {
  return (excerpt?.lines ?? []).map((text, index) => {
    const number = Number(excerpt?.start) + index
    return { number, text, isMarked: number === excerpt?.line }
  })
}

function toPlace({ file, line, column }: RecordedFrame): string {
  return [file || 'native code', line, column].filter(part => part !== undefined).join(':')
}

function toRest({ common, omitted }: Pick<Exception, 'common' | 'omitted'>): string[] {
  return [
    ...(omitted > 0 ? [`${omitted} more were not recorded`] : []),
    ...(common > 0 ? [`${common} more are those of the exception above`] : []),
  ]
}

/** As plain text, for a report or a search. */
function toTrace({ name, message, relation, frames, ...left }: Exception): string {
  const head = `${relation === '' ? '' : `${relation}: `}${name}${message === '' ? '' : `: ${message}`}`
  const calls = frames.map(frame => `    at ${frame.call} (${toPlace(frame)})`)
  return [head, ...calls, ...toRest(left).map(rest => `    … ${rest}`)].join('\n')
}
