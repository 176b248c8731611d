import type { CallerPlace } from '../../../lib/stack/callers.ts'
import type { RecordedException, RecordedFrame } from './code.ts'
import { formatValue, type Row } from './format.ts'
import { oncePerProfile, type Profile } from './profile.ts'
import type { Excerpt } from './schema.ts'

/** One exception of a profile, on its own. */
export interface StoredException extends Pick<RecordedException, 'name' | 'message' | 'frames'> {
  /**
   * Why it is in the list: empty for the first, else `Thrown later`, `Caused by`, or
   * `Error 1 of 2` of an AggregateError.
   */
  readonly relation: string
  /** The code of the error; empty if it has none, or if the code is its name. */
  readonly code: string
  /** The status of an HTTP error, else 0. */
  readonly status: number
  /** Its further properties, in their order. */
  readonly properties: readonly Row[]
  /** How many outer frames are those of the exception above. */
  readonly common: number
  /** How many frames were not recorded. */
  readonly omitted: number
  readonly note: string
}

const countLimit = 100

/** Reads the exceptions of a profile: each is followed by the exceptions that it gathers, and by its causes. */
export const readExceptions: (profile: Profile) => readonly StoredException[] = oncePerProfile(collectors => {
  const [first, ...later] = collectors.exception?.exceptions ?? []
  if (first === undefined) return []
  const all = [...readChain(first), ...later.flatMap(error => readChain(error, 'Thrown later'))]
  return all.slice(0, countLimit)
})

/** Lists an exception, those that it gathers, and its causes. `relation` is that of the exception itself. */
export function readChain(
  {
    cause,
    code = '',
    common = 0,
    errors = [],
    frames,
    message,
    name,
    note = '',
    omitted = 0,
    properties = {},
    status = 0,
  }: RecordedException,
  relation = '',
): StoredException[] {
  const exception: StoredException = {
    relation,
    name: name || 'Error',
    message,
    // Errors of a catalogue are named by their code.
    code: code === name ? '' : String(code),
    status,
    properties: Object.entries(properties).map(([name, value]) => ({ name, value: formatValue(value) })),
    frames,
    common,
    omitted,
    note,
  }
  const inner = errors.flatMap((each, index) => readChain(each, `Error ${index + 1} of ${errors.length}`))
  return [exception, ...inner, ...(cause === undefined ? [] : readChain(cause, 'Caused by'))]
}

/** Finds the exception that the error page answers: the last one that was thrown. */
export function findAnswered(profile: Profile): StoredException | undefined {
  return readExceptions(profile).findLast(({ relation }) => relation === '' || relation === 'Thrown later')
}

/**
 * Finds the innermost call of the application in the stacks of the exceptions. Some libraries make an error where its
 * answer arrives, so that its stack has none: then it is the place of the work that has failed with this message.
 */
export function findThrowPlace(profile: Profile): CallerPlace | undefined {
  const exceptions = readExceptions(profile)
  const frames = exceptions.flatMap(({ frames }) => frames)
  const frame = frames.find(({ file, origin }) => origin === 'application' && file !== undefined)
  if (frame !== undefined) return frame
  const messages = new Set(exceptions.map(({ message }) => message))
  const { http, mails, queries } = profile.collectors
  const work: readonly FailedWork[] = [...(queries?.queries ?? []), ...(http?.calls ?? []), ...(mails?.mails ?? [])]
  return work.find(({ caller, error = '' }) => error !== '' && caller !== undefined && messages.has(error))?.caller
}

interface FailedWork {
  readonly caller?: CallerPlace | undefined
  readonly error?: string | undefined
}

/** Reads the excerpts of sources that frames name by file and line. */
export function readExcerpts({ collectors }: Profile): readonly Excerpt[] {
  return collectors.exception?.excerpts ?? []
}

/** Names the place of a call: `kernel/http-kernel.ts:41:7`. */
export function toPlace({ file, line, column }: RecordedFrame): string {
  return [file || 'native code', line, column].filter(part => part !== undefined).join(':')
}

/** Says which frames were left out, and why. */
export function toRest({ common, omitted }: Pick<StoredException, 'common' | 'omitted'>): string[] {
  return [
    ...(omitted > 0 ? [`${omitted} more not recorded`] : []),
    ...(common > 0 ? [`${common} in common with parent`] : []),
  ]
}
