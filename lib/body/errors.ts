import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

/** More bytes are declared or sent than accepted. Send less, or raise the route's `_body_limit`. */
export const BODY_TOO_LARGE: CodedErrorClass<[limit: number]> = defineError(
  'BODY_TOO_LARGE',
  413,
  'The request body is larger than the limit of %s bytes.',
)

/** A form has more fields or files than accepted. Send fewer. */
export const BODY_FIELDS_TOO_MANY: CodedErrorClass<[limit: number, kind: 'fields' | 'files']> = defineError(
  'BODY_FIELDS_TOO_MANY',
  413,
  'The form has more than the limit of %s %s.',
)

/** The text fields of a multipart form are too large together. Send large content as a file. */
export const BODY_FIELDS_TOO_LARGE: CodedErrorClass<[limit: number]> = defineError(
  'BODY_FIELDS_TOO_LARGE',
  413,
  'The text fields of the form are together larger than the limit of %s bytes.',
)

/** The body ended before it was complete. Send it again. */
export const BODY_TRUNCATED: CodedErrorClass<[]> = defineError(
  'BODY_TRUNCATED',
  400,
  'The request body ended before it was complete.',
)

/** JSON or a form was expected, and another type was sent. Send a type in the `Accept` header of the response. */
export const BODY_TYPE_UNSUPPORTED: CodedErrorClass<[sent: string, expected: string]> = defineError(
  'BODY_TYPE_UNSUPPORTED',
  415,
  'The request body has the content type "%s". Send %s.',
)

/** The body is compressed. Send it unencoded. */
export const BODY_ENCODING_UNSUPPORTED: CodedErrorClass<[encoding: string]> = defineError(
  'BODY_ENCODING_UNSUPPORTED',
  415,
  'The request body has the content encoding "%s". Send it without an encoding.',
)

/**
 * Text is not UTF-8, and the content type names another charset. Send UTF-8; or read `bytes()`, and decode them by a
 * `TextDecoder`.
 */
export const BODY_CHARSET_UNSUPPORTED: CodedErrorClass<[charset: string]> = defineError(
  'BODY_CHARSET_UNSUPPORTED',
  415,
  'The request body has the charset "%s". Send UTF-8.',
)

/** Text is not UTF-8. Send UTF-8, or read `bytes()`. */
export const BODY_TEXT_INVALID: CodedErrorClass<[]> = defineError(
  'BODY_TEXT_INVALID',
  400,
  'The request body is not valid UTF-8.',
)

/** JSON is empty, malformed, too deep, or has a key that changes prototypes. Correct the body as the reason says. */
export const BODY_JSON_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'BODY_JSON_INVALID',
  400,
  'The request body is not valid JSON: %s.',
)

/** A form is malformed, or has escaped bytes that are not UTF-8. Correct the form as the reason says. */
export const BODY_FORM_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'BODY_FORM_INVALID',
  400,
  'The request body is not a valid form: %s.',
)

/** A body is read in two ways, or after its request is over. Read it once, before the response. */
export const BODY_UNAVAILABLE: CodedErrorClass<[reason: string]> = defineError(
  'BODY_UNAVAILABLE',
  500,
  'The request body cannot be read: %s.',
)
