import { guard } from '../../lib/guard.ts'
import type { Running } from '../../lib/stack/callers.ts'

/**
 * An HTTP client call as its client reports it when it begins. The fields are read at once. Nothing in it is masked.
 */
export interface CallStart {
  /** The API that makes the call. */
  readonly client: 'fetch' | 'node:http' | 'node:http2'
  readonly method: string
  readonly url: string
  /** Whether neither a signal nor a timeout of it was seen. */
  readonly isUnlimited?: true | undefined
  /** The signal with which its caller may abort it, where it was seen. */
  readonly signal?: AbortSignal | undefined
  /**
   * Adds headers to the request, such as a trace context, unless it has the first of them, or is on its way. Absent of
   * a client whose requests always are.
   */
  addHeaders?(headers: readonly (readonly [name: string, value: string])[]): void
}

/** The connection of a call, such as a socket of Node. */
export interface CallSocket {
  readonly bytesRead: number
}

/** Receives what happens to one HTTP client call. What a receiver does not have is not observed for it. */
export interface CallWork {
  /** The headers of the request, as names and values in turn; before its body. */
  noteSent?(headers: readonly string[]): void
  /** A part of the body of the request. */
  takeSent?(chunk: unknown): void
  /** No timeout of the call is seen when it is sent. */
  noteUnlimited?(): void
  /** The call was assigned to a connection. */
  send?(socket: CallSocket | null | undefined): void
  /** All of the request was sent. */
  upload?(): void
  /**
   * The head of a response. The headers are names and values in turn, which may be bytes. The last
   * head counts; earlier ones are informational (1xx).
   */
  noteReceived(status: number, headers: readonly unknown[]): void
  /** A part of the body of the response. */
  takeReceived?(chunk: unknown): void
  /** The response has ended. */
  finish(): void
  /** The call or its response has failed; `isAborted` if its caller has ended it. The first failure counts. */
  fail(error: unknown, isAborted?: boolean): void
}

/** Receives the HTTP client calls of the process. */
export interface CallObserver {
  /**
   * Called when a call begins, in the context of its request; `undefined` for a call that is not recorded.
   * `below` is the function that the application has called, for the search of the place in its code.
   */
  begin(call: CallStart, below: Running): CallWork | undefined
}

/** Clients belong to the process, and so do their observers: a process may have several kernels. */
const observers = new Set<CallObserver['begin']>()

/** Passes the HTTP client calls of the process to an observer, until the returned function is called. */
export function observeHttpCalls(observer: CallObserver): () => void {
  const begin = guard('an HTTP client call', observer.begin.bind(observer))
  observers.add(begin)
  return () => void observers.delete(begin)
}

/** Reports that a call begins. Returns what receives the rest of it; `undefined` if nothing records the call. */
export function beginHttpCall(call: CallStart, below: Running): CallWork | undefined {
  const works: CallWork[] = []
  for (const begin of observers) {
    const work = begin(call, below)
    if (work !== undefined) works.push(work)
  }
  return works.length > 1 ? shareCall(works) : works[0]
}

const methods = [
  ...(['noteSent', 'takeSent', 'noteUnlimited', 'send', 'upload', 'noteReceived', 'takeReceived'] as const),
  ...(['finish', 'fail'] as const),
]

/** Reports a call to several receivers. */
function shareCall(works: readonly CallWork[]): CallWork {
  const passOn = (name: (typeof methods)[number]) =>
    guard('an HTTP client call', (...values: unknown[]) => {
      // The values are those of the method of this name.
      for (const work of works) (work[name] as ((...values: unknown[]) => void) | undefined)?.apply(work, values)
    })
  // All methods have their names.
  return Object.fromEntries(methods.map(name => [name, passOn(name)])) as unknown as CallWork
}
