import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

export const MOUNT_PATH_INVALID: CodedErrorClass<[path: string, reason: string]> = defineError(
  'MOUNT_PATH_INVALID',
  500,
  'A handler cannot be mounted at "%s": %s.',
)

export const MOUNT_HANDLER_INVALID: CodedErrorClass<[path: string, found: string]> = defineError(
  'MOUNT_HANDLER_INVALID',
  500,
  'The handler mounted at "%s" must be a function, such as the "fetch" of a Hono application, but it is %s.',
)

export const MOUNT_URL_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'MOUNT_URL_INVALID',
  400,
  'The mounted handler cannot get this request: %s.',
)

export const MOUNT_RESPONSE_INVALID: CodedErrorClass<[path: string, found: string]> = defineError(
  'MOUNT_RESPONSE_INVALID',
  500,
  'The handler mounted at "%s" must return a "Response" of the Fetch API, but it returned %s.',
)
