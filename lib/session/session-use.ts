import { withoutStack } from '../errors/http-error.ts'
import { SESSION_STATELESS } from './errors.ts'

/** The methods of a session that use it. */
export type SessionMethod =
  | 'get'
  | 'set'
  | 'has'
  | 'delete'
  | 'update'
  | 'take'
  | 'all'
  | 'clear'
  | 'flash'
  | 'flashes'
  | 'peekFlashes'
  | 'metadata'
  | 'regenerate'
  | 'invalidate'

/** One use of a session. */
export interface SessionUse {
  readonly method: SessionMethod
  /** Creates an error whose stack begins where the session was used. Only valid during the `onUse` call. */
  captureCallSite(): Error
}

/** Decides when a use of the session is a mistake, and handles it. */
export interface StatelessCheckOptions {
  /** Whether the request is declared stateless. Called at each use, because routing may come after the session. */
  isStateless(): boolean
  /** Refuse the use instead of reporting it. */
  readonly isDebug: boolean
  report(use: SessionUse): void
}

/** Creates an `onUse` function that reports a use in a stateless request, or throws SESSION_STATELESS in debug. */
export function createStatelessCheck(options: StatelessCheckOptions): (use: SessionUse) => void {
  return use => {
    if (!options.isStateless()) return
    if (options.isDebug) throw new SESSION_STATELESS([])
    options.report(use)
  }
}

/** Creates the error of {@link SessionUse.captureCallSite}. Its stack begins with the caller of `method`. */
export function captureCallSite(name: SessionMethod, method: (...values: never[]) => unknown): Error {
  // Otherwise the stack would be captured twice.
  const callSite = withoutStack(() => new Error(`session.${name}()`))
  Error.captureStackTrace(callSite, method)
  return callSite
}
