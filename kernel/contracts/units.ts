import { checkArguments } from '../../lib/errors/arguments.ts'
import { isThenable } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { guard } from '../../lib/guard.ts'
import type { Following } from '../../lib/observe-calls.ts'
import { addTo } from '../../lib/share.ts'

/** Work that is no request. Nothing in it is masked: its receiver masks it. */
export interface UnitStart {
  /** A run of a program, a job of a queue, a received message, or any other work. */
  readonly type: 'command' | 'job' | 'message' | 'task'
  /** The same for all work that is alike, such as the queue and the name of a job. */
  readonly name: string
  /** What it works on: the data of a job, the content of a message. */
  readonly input?: unknown
  /** Those of a command line. */
  readonly arguments?: readonly string[]
  /** The job of which it is an attempt. */
  readonly job?: JobAttempt
  /** How a message has come. */
  readonly message?: ReceivedMessage
  /** The token of the profile that has caused it; `null` for none. By default, that of the running code. */
  readonly cause?: string | null | undefined
}

/** A message, and its connection. */
export interface ReceivedMessage {
  /** The same for all messages of a connection. */
  readonly connection: string
  /** The name of its event, if it has one. */
  readonly event?: string | undefined
  /** Its size, if that is known. */
  readonly bytes?: number | undefined
}

/** A job in its queue. */
export interface JobKey {
  readonly queue: string
  readonly id: string
  /** When it was created, in milliseconds since 1970, if the id is only unique in its server. */
  readonly created?: number | undefined
}

/** An attempt to do a job. */
export interface JobAttempt extends JobKey {
  /** The first one is 1; `undefined` if it is not known. */
  readonly attempt?: number | undefined
  /** How many there are at most, if that is known. */
  readonly attempts?: number | undefined
  /** Milliseconds from the time at which it could begin to its beginning, if that is known. */
  readonly waited?: number | undefined
  /** Whether a schedule has added it: then jobs with the same data are meant. */
  readonly isScheduled?: boolean
}

/** How work has ended: without `error`, it has succeeded. */
export interface UnitEnd {
  readonly error?: unknown
  readonly result?: unknown
  /** Of a command. Another one than 0 is a failure. */
  readonly exitCode?: number
  /** Of a command: the signal that ends it. */
  readonly signal?: string
  /** What a process that exits has left open: `2 timers`. */
  readonly open?: readonly string[]
}

/** A masked profile as JSON, and the facts about its process. */
export interface StoredText {
  readonly text: string
  readonly facts: string
}

/** Work that is being recorded. */
export interface RecordedUnit {
  /** Runs code as a part of the work: what it does is recorded there. */
  run<result>(task: () => result): result
  /** The rest of the running code is a part of the work, until the returned function is called. */
  enter(): () => void
  /**
   * Code of the process that works for nothing else is a part of the work, until a request or a job
   * begins: then the work is dropped. `onLeave` is called when the work is dropped or has ended.
   */
  enterProcess(onLeave: () => void): void
  /**
   * The profile as it is if the process ends now, as the text that is stored; `undefined` if there
   * is none. The work goes on.
   */
  describeSoFar(ending: UnitEnd): StoredText | undefined
  /** Stores this profile before it returns. If the process goes on, the end of the work replaces it. */
  storeSoFar(ending: UnitEnd): void
  /** No profile is made. */
  drop(): void
  /** A second call does nothing. */
  end(ending: UnitEnd): void
}

/** That a message has failed, with the error if there is one. */
export type MessageFailure = Pick<UnitEnd, 'error'>

/** Receives what is reported of work. */
export interface UnitObserver {
  /** Begins to record work; `undefined` if it is not recorded. */
  begin(start: UnitStart): RecordedUnit | undefined
  /** The running code has put a job into its queue. */
  noteJob(job: JobKey): void
  /** The token of the profile of the running code, or of the request with a message of Node. */
  findToken(message?: object): string | undefined
  /** The message that the running code handles has failed, whatever its function returns. */
  fail(failure: MessageFailure): void
}

/** Work is reported by global functions, so its observers belong to the process. */
const observers: UnitObserver[] = []

/** Passes all work that is no request to an observer, until the returned function is called. */
export function observeUnits({ begin, fail, findToken, noteJob }: UnitObserver): () => void {
  // The work runs without its profile if an observer fails.
  return addTo(observers, {
    begin: guard('work', begin),
    noteJob: guard('jobs', noteJob),
    findToken: guard('work', findToken),
    fail: guard('work', fail),
  })
}

/** Begins work; `undefined` if nothing records it. The last observer belongs to the newest kernel of the process. */
export function beginUnit(start: UnitStart): RecordedUnit | undefined {
  return observers.at(-1)?.begin(start)
}

/** Reports that the running code has put a job into its queue. */
export function noteJob(job: JobKey): void {
  observers.at(-1)?.noteJob(job)
}

/**
 * The token of the profile of the running code, or of the request with a message of Node;
 * `undefined` if it is not recorded.
 */
export function findToken(message?: object): string | undefined {
  return observers.at(-1)?.findToken(message)
}

/** Reports that the message that the running code handles has failed, though its function does not throw. */
export function failMessage(failure: MessageFailure): void {
  observers.at(-1)?.fail(failure)
}

/**
 * Runs work that no request causes, such as a consumer of a queue, or a timer: the profiler makes a profile of it,
 * with its queries, HTTP client calls, log messages and errors. Profiles of the same name are compared. Without the
 * profiler, as in production, it only calls the function. Returns the result of the function, and passes its error on.
 */
export function profile<result>(name: string, work: () => result): result {
  if (typeof name !== 'string' || typeof work !== 'function')
    checkArguments('profile(name, work)', ['string', 'function'], name, work)
  const unit = beginUnit({ type: 'task', name })
  return unit === undefined ? work() : runUnit(unit, () => unit.run(work))
}

/** Runs a function as the whole of some work. */
export function runUnit<result>(unit: Pick<RecordedUnit, 'end'>, work: () => result): result {
  let result: result
  try {
    result = work()
  } catch (error) {
    unit.end({ error })
    throw error
  }
  return endWith(unit, result)
}

/** Ends work with the result of its function, which is returned; if it is a promise, when that is settled. */
export function endWith<result>(unit: Pick<RecordedUnit, 'end'>, result: result): result {
  if (!isThenable(result)) {
    unit.end({ result })
    return result
  }
  const settled = Promise.resolve(result).then(
    result => {
      unit.end({ result })
      return result
    },
    error => {
      unit.end({ error })
      throw error
    },
  )
  // The result was a thenable, and this promise has its value.
  return settled as result
}

/** The work whose observed function runs now, until this function has returned. */
let called: { readonly unit: RecordedUnit; isTaken?: boolean } | undefined

/**
 * Takes over the end of the work whose observed function runs now, which does not return the promise of what it has
 * begun; `undefined` if there is none.
 */
export function takeUnit(): RecordedUnit | undefined {
  if (called !== undefined) called.isTaken = true
  return called?.unit
}

/** Records the call of an observed function as work. An async function has no frame in its stacks. */
export function followUnit(start: UnitStart): Following | undefined {
  const unit = beginUnit(start)
  if (unit === undefined) return undefined
  const leaveUnit = unit.enter()
  const outer = called
  const call: typeof called = { unit }
  called = call
  const leave = () => {
    called = outer
    leaveUnit()
  }
  return {
    after(result) {
      leave()
      return call.isTaken === true ? result : endWith(unit, result)
    },
    failed(error) {
      leave()
      unit.end({ error })
    },
  }
}
