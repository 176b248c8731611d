import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { processStart } from '../process-start.ts'
import { escapeRegExp } from '../text/escapes.ts'
import type { CodePlace } from './stack-frames.ts'

/** A place of the application on a stack. */
export interface StackPlace {
  readonly place: CodePlace & { callsHelper?: true | undefined }
  /** The path of its file. */
  readonly file: string | undefined
  /** Whether its function is a helper. */
  isInHelper?: boolean
  /** Places above it, until its function is known to be a helper. */
  callers?: readonly StackPlace[]
}

const knownLimit = 1000

/** The places that this process has found to call a helper. */
const known = new Set<string>()

/**
 * Whether this process has found that a place calls a helper. `seen`: when the place was recorded,
 * in milliseconds since 1970.
 */
export function isHelperCall(place: CodePlace, seen = Infinity): boolean {
  return known.size > 0 && seen >= processStart() && known.has(keyOf(place))
}

/**
 * Notes that a place was above another one on a stack. A function is a helper if two lines call it
 * by its name: a middleware, or code that gets a function, calls any function by a name of its own.
 */
export function noteCall(below: StackPlace, above: StackPlace): void {
  const names = namesOf(below.place)
  if (below.isInHelper) {
    if (hasName(above, names)) mark(above)
    return
  }
  const callers = [...(below.callers ?? []), above]
  below.callers = countLines(callers) === 1 ? callers : callers.filter(each => hasName(each, names))
  if (countLines(below.callers) < 2) return
  below.callers.forEach(mark)
  below.callers = []
  below.isInHelper = true
}

function mark({ place }: StackPlace): void {
  if (place.callsHelper) return
  place.callsHelper = true
  if (known.size === knownLimit) known.clear()
  known.add(keyOf(place))
}

function keyOf({ column, file, function: name, line }: CodePlace): string {
  return `${file}:${line}:${column} ${name}`
}

function countLines(places: readonly StackPlace[]): number {
  return new Set(places.map(({ place: { file, line } }) => `${file}:${line}`)).size
}

/**
 * The names of a function in calls: `Shop.find [as findBook]` has two. What a file exports alone
 * has the name of the file.
 */
function namesOf({ file = '', function: name = '' }: CodePlace): readonly string[] {
  const [, own = '', other] = /([^.\s]+)(?: \[as (.+)\])?$/.exec(name) ?? []
  if (own !== 'default' && own !== 'exports') return [own, other ?? own]
  return path.parse(file.replace(/[\\/]index\.\w+$/, '')).name.split('.', 1)
}

const sizeLimit = 2 * 1024 * 1024
const lengthLimit = 2000

/** Whether the source has one of the names in a line, or in the two below it: a call may have several lines. */
function hasName({ file = '', place: { line = 0 } }: StackPlace, names: readonly string[]): boolean {
  try {
    if (line === 0 || statSync(file).size > sizeLimit) return false
    const lines = readFileSync(file, 'utf8').split('\n', line + 2)
    const text = lines.slice(line - 1).join('\n')
    // The names of minified code are everywhere.
    return (
      text.length < lengthLimit &&
      names.some(name => name !== '' && new RegExp(`(?<![\\w$])${escapeRegExp(name)}(?![\\w$])`).test(text))
    )
  } catch {
    return false
  }
}
