import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

export const HTTP_TARGET_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'HTTP_TARGET_INVALID',
  400,
  'The request target is not valid: %s.',
)

export const HTTP_TARGET_TOO_LONG: CodedErrorClass<[length: number, limit: number]> = defineError(
  'HTTP_TARGET_TOO_LONG',
  414,
  'The request target has %s characters; the limit is %s.',
)

export const HTTP_HOST_INVALID: CodedErrorClass<[host: string]> = defineError(
  'HTTP_HOST_INVALID',
  400,
  'Invalid Host "%s".',
)

export const HTTP_HOST_FOREIGN: CodedErrorClass<[host: string]> = defineError(
  'HTTP_HOST_FOREIGN',
  400,
  'The host "%s" is not one of this server.',
)

export const HTTP_CROSS_ORIGIN: CodedErrorClass<[method: string, header: string, value: string, origin: string]> =
  defineError(
    'HTTP_CROSS_ORIGIN',
    403,
    'A page of another origin has sent this %s request (%s: %s). Only pages of %s may send it.',
  )

export const HTTP_HOST_REPEATED: CodedErrorClass<[]> = defineError(
  'HTTP_HOST_REPEATED',
  400,
  'The request has more than one Host header.',
)

export const HTTP_HOST_CONFLICT: CodedErrorClass<[target: string, header: string]> = defineError(
  'HTTP_HOST_CONFLICT',
  400,
  'The request target names the host "%s" and the Host header "%s"; both must be the same.',
)

export const HTTP_METHOD_UNKNOWN: CodedErrorClass<[method: string, known: string]> = defineError(
  'HTTP_METHOD_UNKNOWN',
  501,
  'The method "%s" is not implemented. Implemented are %s.',
)

export const HTTP_METHOD_REFUSED: CodedErrorClass<[method: string]> = defineError(
  'HTTP_METHOD_REFUSED',
  405,
  'The method "%s" is not supported.',
)

export const HTTP_FORWARDING_CONFLICT: CodedErrorClass<[header: string]> = defineError(
  'HTTP_FORWARDING_CONFLICT',
  400,
  'The request has both a trusted "forwarded" header and a trusted "%s" header, and they differ.',
)

export const HTTP_FORWARDING_INVALID: CodedErrorClass<[header: string, value: string]> = defineError(
  'HTTP_FORWARDING_INVALID',
  400,
  'The trusted header "%s" is malformed: "%s".',
)

export const HTTP_HEADER_INVALID: CodedErrorClass<[name: string, reason: string]> = defineError(
  'HTTP_HEADER_INVALID',
  500,
  'The header "%s" cannot be sent: %s.',
)

export const HTTP_STATUS_INVALID: CodedErrorClass<[status: unknown]> = defineError(
  'HTTP_STATUS_INVALID',
  500,
  'The status of a response must be an integer from 200 to 599, not "%s".',
)

export const HTTP_REDIRECT_INVALID: CodedErrorClass<[location: string, reason: string]> = defineError(
  'HTTP_REDIRECT_INVALID',
  500,
  'The redirect to "%s" cannot be sent: %s.',
)

export const HTTP_JSON_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'HTTP_JSON_INVALID',
  500,
  'Response.json() got a value that JSON cannot represent: %s.',
)

export const HTTP_STREAM_USED: CodedErrorClass<[]> = defineError(
  'HTTP_STREAM_USED',
  500,
  'The stream of the response was read to its end, or destroyed, before it could be sent.',
)

export const HTTP_TRANSFER_CODING_UNSUPPORTED: CodedErrorClass<[coding: string]> = defineError(
  'HTTP_TRANSFER_CODING_UNSUPPORTED',
  501,
  'The transfer coding "%s" is not supported. Send "chunked" once, with HTTP/1.1, or a Content-Length.',
)

export const HTTP_HEADERS_TOO_MANY: CodedErrorClass<[count: number, limit: number]> = defineError(
  'HTTP_HEADERS_TOO_MANY',
  431,
  'The request has %s header fields; the limit is %s.',
)

export const HTTP_VERSION_UNSUPPORTED: CodedErrorClass<[version: string]> = defineError(
  'HTTP_VERSION_UNSUPPORTED',
  505,
  'HTTP/%s is not supported. Send HTTP/1.1.',
)

export const HTTP_ASSETS_UNREADABLE: CodedErrorClass<[name: string, directory: string, reason: string]> = defineError(
  'HTTP_ASSETS_UNREADABLE',
  500,
  'The static files of the bundle "%s" cannot be listed: the folder %s cannot be read (%s).',
)

export const HTTP_COOKIE_TOO_LARGE: CodedErrorClass<[name: string, size: number, limit: number]> = defineError(
  'HTTP_COOKIE_TOO_LARGE',
  500,
  'The cookie "%s" has %s bytes with its name, but browsers ignore cookies with more than %s: keep the data in the session.',
)

export const HTTP_EVENT_INVALID: CodedErrorClass<[problem: string]> = defineError(
  'HTTP_EVENT_INVALID',
  500,
  'The event cannot be sent: %s.',
)

export const HTTP_EVENTS_UNREAD: CodedErrorClass<[bytes: number]> = defineError(
  'HTTP_EVENTS_UNREAD',
  500,
  'The client of an event stream does not read: %s bytes wait for it.',
)

export const HTTP_UPGRADE_REQUIRED: CodedErrorClass<[]> = defineError(
  'HTTP_UPGRADE_REQUIRED',
  426,
  'This address is for WebSockets: the request must be a WebSocket handshake over HTTP/1.1.',
)

export const HTTP_UPGRADE_CROSS_ORIGIN: CodedErrorClass<[header: string, value: string]> = defineError(
  'HTTP_UPGRADE_CROSS_ORIGIN',
  403,
  'A page of another origin may not open this WebSocket (%s: %s).',
)

export const HTTP_FILE_MISSING: CodedErrorClass<[name: string]> = defineError(
  'HTTP_FILE_MISSING',
  404,
  'There is no file "%s".',
)

export const HTTP_HINT_INVALID: CodedErrorClass<[link: string]> = defineError(
  'HTTP_HINT_INVALID',
  500,
  'The early hint "%s" cannot be sent; it must be a link such as </app.css>; rel=preload; as=style.',
)
