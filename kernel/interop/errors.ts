import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

/**
 * The path of `mountFetchHandler` or `mountNodeHandler` has no slash at its beginning, one at its end, or a wildcard.
 * Write `/api`: all paths below it belong to the mount.
 */
export const MOUNT_PATH_INVALID: CodedErrorClass<[path: string, reason: string]> = defineError(
  'MOUNT_PATH_INVALID',
  500,
  'A handler cannot be mounted at "%s": %s.',
)

/**
 * The handler of `mountFetchHandler` or `mountNodeHandler` is no function. Pass `hono.fetch`, or the application of
 * Express.
 */
export const MOUNT_HANDLER_INVALID: CodedErrorClass<[path: string, found: string]> = defineError(
  'MOUNT_HANDLER_INVALID',
  500,
  'The handler mounted at "%s" must be a function, such as the "fetch" of a Hono application, but it is %s.',
)

/**
 * The path of a request has a segment `.` or `..`, or its host cannot be in a URL: the handler would see another URL
 * than the routes. Nothing needs to be done: browsers do not send this.
 */
export const MOUNT_URL_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'MOUNT_URL_INVALID',
  400,
  'The mounted handler cannot get this request: %s.',
)

/**
 * A mounted handler has returned no `Response` of the Fetch API, `Response.error()`, or one whose body was read
 * already. Return a new response.
 */
export const MOUNT_RESPONSE_INVALID: CodedErrorClass<[path: string, found: string]> = defineError(
  'MOUNT_RESPONSE_INVALID',
  500,
  'The handler mounted at "%s" must return a "Response" of the Fetch API, but it returned %s.',
)
