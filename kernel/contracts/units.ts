import { isThenable } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { guard } from '../../lib/guard.ts'

/** Work that is no request. Nothing in it is masked: its receiver masks it. */
export interface UnitStart {
  /** A run of a program, a job of a queue, a received message, or any other work. */
  readonly type: 'command' | 'job' | 'message' | 'task'
  /** The same for all work that is alike, such as the queue and the name of a job. */
  readonly name: string
}

/** How work has ended: without `error`, it has succeeded. */
export interface UnitEnd {
  readonly error?: unknown
}

/** Work that is being recorded. */
export interface RecordedUnit {
  /** Runs code as a part of the work: what it does is recorded there. */
  run<result>(task: () => result): result
  /** A second call does nothing. */
  end(ending: UnitEnd): void
}

/** Begins to record work; `undefined` if it is not recorded. */
type BeginUnit = (start: UnitStart) => RecordedUnit | undefined

/** Work is reported by global functions, so its observers belong to the process. */
const observers: BeginUnit[] = []

/** Passes all work that is no request to an observer, until the returned function is called. */
export function observeUnits(begin: BeginUnit): () => void {
  const observer = guard('work', begin)
  observers.push(observer)
  return () => {
    const index = observers.indexOf(observer)
    if (index !== -1) observers.splice(index, 1)
  }
}

/** Begins work; `undefined` if nothing records it. The last observer belongs to the newest kernel of the process. */
export function beginUnit(start: UnitStart): RecordedUnit | undefined {
  return observers.at(-1)?.(start)
}

/**
 * Runs work that no request causes, such as a consumer of a queue, or a timer: the profiler makes a profile of it, with its
 * queries, HTTP client calls, log messages and errors. Profiles of the same name are compared. Without the profiler, as in production, it only
 * calls the function. Returns the result of the function, and passes its error on.
 */
export function profile<result>(name: string, work: () => result): result {
  const unit = beginUnit({ type: 'task', name })
  return unit === undefined ? work() : runUnit(unit, work)
}

/** Runs a function as the whole of some work. */
function runUnit<result>(unit: RecordedUnit, work: () => result): result {
  let result: result
  try {
    result = unit.run(work)
  } catch (error) {
    unit.end({ error })
    throw error
  }
  if (!isThenable(result)) {
    unit.end({})
    return result
  }
  const settled = Promise.resolve(result).then(
    value => {
      unit.end({})
      return value
    },
    error => {
      unit.end({ error })
      throw error
    },
  )
  // The result was a thenable, and this promise has its value.
  return settled as result
}
