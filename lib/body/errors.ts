import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

export const BODY_TOO_LARGE: CodedErrorClass<[limit: number]> = defineError(
  'BODY_TOO_LARGE',
  413,
  'The request body is larger than the limit of %s bytes.',
)

export const BODY_FIELDS_TOO_MANY: CodedErrorClass<[limit: number, kind: 'fields' | 'files']> = defineError(
  'BODY_FIELDS_TOO_MANY',
  413,
  'The form has more than the limit of %s %s.',
)

export const BODY_FIELDS_TOO_LARGE: CodedErrorClass<[limit: number]> = defineError(
  'BODY_FIELDS_TOO_LARGE',
  413,
  'The text fields of the form are together larger than the limit of %s bytes.',
)

export const BODY_TRUNCATED: CodedErrorClass<[]> = defineError(
  'BODY_TRUNCATED',
  400,
  'The request body ended before it was complete.',
)

export const BODY_TYPE_UNSUPPORTED: CodedErrorClass<[sent: string, expected: string]> = defineError(
  'BODY_TYPE_UNSUPPORTED',
  415,
  'The request body has the content type "%s". Send %s.',
)

export const BODY_ENCODING_UNSUPPORTED: CodedErrorClass<[encoding: string]> = defineError(
  'BODY_ENCODING_UNSUPPORTED',
  415,
  'The request body has the content encoding "%s". Send it without an encoding.',
)

export const BODY_TEXT_INVALID: CodedErrorClass<[]> = defineError(
  'BODY_TEXT_INVALID',
  400,
  'The request body is not valid UTF-8.',
)

export const BODY_JSON_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'BODY_JSON_INVALID',
  400,
  'The request body is not valid JSON: %s.',
)

export const BODY_FORM_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'BODY_FORM_INVALID',
  400,
  'The request body is not a valid form: %s.',
)

export const BODY_UNAVAILABLE: CodedErrorClass<[reason: string]> = defineError(
  'BODY_UNAVAILABLE',
  500,
  'The request body cannot be read: %s.',
)
