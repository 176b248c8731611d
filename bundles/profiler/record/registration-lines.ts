import { registrationOf, takeRegistrations } from '../../../kernel/contracts/functions.ts'
import { toSource } from '../../../lib/stack/source-maps.ts'
import { type CodePlace, type FrameLocation, locateFrame, parseStack } from '../../../lib/stack/stack-frames.ts'

/** A frame of a registration: where it is, and whose code it is. */
type RegistrationFrame = FrameLocation & Pick<CodePlace, 'line' | 'column'>

/** The places of registrations. A process has one directory. */
let places = new WeakMap<object, { readonly directory: string; readonly frame: RegistrationFrame | undefined }>()

/** The lines that have called each line, and those that it has called. */
const callers = new Map<string, Set<string>>()
const called = new Map<string, Set<string>>()

/**
 * The place of the application that has registered a function; `undefined` if it is not known. A line is that of a
 * helper if several lines have called it, and none of them has called another one: each call of `get(path, handler)`
 * leads to its one line. What registers several routes, such as a function that creates a router, is called once for
 * all of them.
 */
export function findRegistration(code: object, directory: string): CodePlace | undefined {
  const registration = registrationOf(code)
  if (registration === undefined) return undefined
  const fresh = takeRegistrations()
  for (const each of fresh) learn(read(each, directory))
  if (fresh.length > 0) places = new WeakMap()
  const known = places.get(registration)
  if (known?.directory === directory) return known.frame
  const frames = read(registration, directory)
  const frame = frames.find(each => !isHelper(each)) ?? frames[0]
  places.set(registration, { directory, frame })
  return frame
}

/** The frames of the application, without those of a function that a compiler writes into each file with decorators. */
function read(registration: object, directory: string): RegistrationFrame[] {
  return parseStack(registration).flatMap(call => {
    const source = toSource(call, directory)
    const { column, line } = source
    const frame = { ...locateFrame(source, directory), line, column }
    return frame.origin === 'application' && !/^_\w*decorate/i.test(call.function ?? '') ? [frame] : []
  })
}

function learn(frames: readonly RegistrationFrame[]): void {
  for (const [at, caller] of frames.slice(1).entries()) {
    const [from, to] = [lineOf(caller), lineOf(frames[at] ?? caller)]
    addTo(callers, to, from)
    addTo(called, from, to)
  }
}

function isHelper(frame: RegistrationFrame): boolean {
  const lines = [...(callers.get(lineOf(frame)) ?? [])]
  return lines.length > 1 && lines.every(line => called.get(line)?.size === 1)
}

function lineOf({ file, line }: RegistrationFrame): string {
  return `${file}:${line}`
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([value]))
  else set.add(value)
}
