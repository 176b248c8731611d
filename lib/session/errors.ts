import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

export const SESSION_STATELESS: CodedErrorClass<[]> = defineError(
  'SESSION_STATELESS',
  500,
  'Session was used while the request was declared stateless.',
)

export const SESSION_VALUE_INVALID: CodedErrorClass<[name: string, path: string, reason: string]> = defineError(
  'SESSION_VALUE_INVALID',
  500,
  'The session cannot store "%s": %s is %s. Store values that JSON can represent.',
)

export const SESSION_TOO_LARGE: CodedErrorClass<[size: number, limit: number]> = defineError(
  'SESSION_TOO_LARGE',
  500,
  'The session has %s bytes; the limit is %s. Store large values elsewhere, and their keys in the session.',
)

export const SESSION_STORE_FAILED: CodedErrorClass<[task: string]> = defineError(
  'SESSION_STORE_FAILED',
  500,
  'The session store failed to %s.',
)

export const SESSION_STORE_UNREACHABLE: CodedErrorClass<[]> = defineError(
  'SESSION_STORE_UNREACHABLE',
  503,
  'The session store is not available.',
)
