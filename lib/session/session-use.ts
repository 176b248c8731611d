import { withoutStack } from '../errors/without-stack.ts'
import { SESSION_STATELESS } from './errors.ts'

/** The methods of a session that use it. */
export type SessionMethod =
  | 'get'
  | 'set'
  | 'has'
  | 'delete'
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
  /** Makes an error whose stack begins where the session was used. To be called while being told, and only if wanted. */
  captureCallSite(): Error
}

/** When a use of the session is a mistake, and what happens then. */
export interface StatelessCheckOptions {
  /** Whether the request is declared stateless; asked at each use, since routing may come after the session. */
  isStateless(): boolean
  /** Whether the use is refused, and not only reported. */
  readonly isDebug: boolean
  report(use: SessionUse): void
}

/** Creates what tells a session that its request is declared stateless. It throws SESSION_STATELESS in debug only. */
export function createStatelessCheck(options: StatelessCheckOptions): (use: SessionUse) => void {
  return use => {
    if (!options.isStateless()) return
    if (options.isDebug) throw new SESSION_STATELESS([])
    options.report(use)
  }
}

/** Makes the error of {@link SessionUse.captureCallSite}; frames above the caller of `method` are left out. */
export function captureCallSite(name: SessionMethod, method: (...values: never[]) => unknown): Error {
  // Otherwise the stack would be taken twice.
  const callSite = withoutStack(() => new Error(`session.${name}()`))
  Error.captureStackTrace(callSite, method)
  return callSite
}
