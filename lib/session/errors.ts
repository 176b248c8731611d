import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

/** A session was used on a route with `_stateless: true`, in debug. Do not use the session, or remove `_stateless`. */
export const SESSION_STATELESS: CodedErrorClass<[]> = defineError(
  'SESSION_STATELESS',
  500,
  'Session was used while the request was declared stateless: do not use it, or remove _stateless from the route.',
)

/** A value is set in a session that JSON cannot represent. Use texts, numbers, plain objects or lists. */
export const SESSION_VALUE_INVALID: CodedErrorClass<[name: string, path: string, reason: string]> = defineError(
  'SESSION_VALUE_INVALID',
  500,
  'The session cannot store "%s": %s is %s. Store values that JSON can represent.',
)

/** A session is larger than 64 KiB as JSON. Keep large values elsewhere, and their keys in the session. */
export const SESSION_TOO_LARGE: CodedErrorClass<[size: number, limit: number]> = defineError(
  'SESSION_TOO_LARGE',
  500,
  'The session has %s bytes; the limit is %s. Store large values elsewhere, and their keys in the session.',
)

/**
 * The store cannot be read or written. For files, check free space, permissions and path of `var/sessions`; for Redis,
 * read the message of the cause.
 */
export const SESSION_STORE_FAILED: CodedErrorClass<[task: string]> = defineError(
  'SESSION_STORE_FAILED',
  500,
  'The session store failed to %s.',
)

/**
 * Redis gives no answer within a second, there is no connection to it, or it is a replica during a fail-over. Check
 * `SESSION_URL` and the server; requests without a session are answered as usual.
 */
export const SESSION_STORE_UNREACHABLE: CodedErrorClass<[]> = defineError(
  'SESSION_STORE_UNREACHABLE',
  503,
  'The session store is not available.',
)
