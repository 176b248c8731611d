import { checkArguments } from '../../lib/errors/arguments.ts'
import { addTo } from '../../lib/share.ts'

/** Receives the values of {@link dump}. */
interface DumpObserver {
  /** Records a value for the current request. False outside of a recorded request. */
  record(value: unknown, label: string | undefined): boolean
  /** Shows a value that no request was handled for. */
  print(value: unknown, label: string | undefined): void
}

/** Dumps are calls of a global function, so their observers belong to the process. */
const observers: DumpObserver[] = []

/** Passes the values of all dumps to an observer, until the returned function is called. */
export function observeDumps(observer: DumpObserver): () => void {
  return addTo(observers, observer)
}

/**
 * Shows a value in the Console panel of the current request's profile, with its place in the code.
 * Outside of a request it is printed to the terminal. Returns the value, so that `dump(x)` can
 * stand in an expression. Without the profiler, as in production, nothing happens.
 */
export function dump<value>(value: value, label?: string): value {
  if (observers.length > 0) {
    checkArguments('dump(value, label)', ['any', 'string?'], value, label)
    pass(value, label)
  }
  return value
}

function pass(value: unknown, label: string | undefined): void {
  // The last observer belongs to the newest kernel of the process.
  if (!observers.some(observer => observer.record(value, label))) observers.at(-1)?.print(value, label)
}
