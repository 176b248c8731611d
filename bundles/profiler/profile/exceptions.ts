import type { RecordedException, RecordedExcerpt, RecordedFrame } from '../record/collectors/exception.ts'
import type { Profile } from './profile.ts'
import { asNumber, asObject, asObjects, asOptionalNumber, asText, asTexts } from './read-soft.ts'

/** How an exception has come to be in the list. */
const relations = { first: '', later: 'Thrown later', gathered: 'Gathered', cause: 'Caused by' } as const

/** One error of a profile, on its own. */
export type StoredException = Omit<Required<RecordedException>, 'cause' | 'errors' | 'code'> & {
  readonly relation: (typeof relations)[keyof typeof relations]
  readonly code: string
}

const countLimit = 100

/** Reads what was thrown: each error followed by those that it gathers and by its causes; none where there is nothing. */
export function readExceptions({ data }: Profile): StoredException[] {
  const [first, ...later] = asObjects(asObject(data.exception).exceptions)
  if (first === undefined) return []
  const all = [...readChain(first, relations.first), ...later.flatMap(error => readChain(error, relations.later))]
  return all.slice(0, countLimit)
}

function readChain(error: Readonly<Record<string, unknown>>, relation: StoredException['relation']): StoredException[] {
  const { code } = error
  const name = asText(error.name)
  const exception: StoredException = {
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

/** Reads the excerpts of sources that frames name by file and line. */
export function readExcerpts({ data }: Profile): RecordedExcerpt[] {
  return asObjects(asObject(data.exception).excerpts).map(({ file, line, start, lines }) => ({
    file: asText(file),
    line: asNumber(line),
    start: asNumber(start),
    lines: asTexts(lines),
  }))
}

/** Names the place of a call: `kernel/http-kernel.ts:41:7`. */
export function toPlace({ file, line, column }: RecordedFrame): string {
  return [file || 'native code', line, column].filter(part => part !== undefined).join(':')
}

/** Says which frames were left out, and why. */
export function toRest({ common, omitted }: Pick<StoredException, 'common' | 'omitted'>): string[] {
  return [
    ...(omitted > 0 ? [`${omitted} more were not recorded`] : []),
    ...(common > 0 ? [`${common} more are those of the exception above`] : []),
  ]
}
