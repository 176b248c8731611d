import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

/** The request target has a bad escape, a backslash, a fragment or no slash at its start. Percent-encode it. */
export const HTTP_TARGET_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'HTTP_TARGET_INVALID',
  400,
  'The request target is not valid: %s.',
)

/** The request target is longer than 8,192 characters. Send data in the body. */
export const HTTP_TARGET_TOO_LONG: CodedErrorClass<[length: number, limit: number]> = defineError(
  'HTTP_TARGET_TOO_LONG',
  414,
  'The request target has %s characters; the limit is %s.',
)

/** The host of the Host header, of the target or of a trusted proxy is invalid. Send a valid host name. */
export const HTTP_HOST_INVALID: CodedErrorClass<[host: string]> = defineError(
  'HTTP_HOST_INVALID',
  400,
  'Invalid Host "%s".',
)

/** In production, the `Host` is not on the list in `APP_HOSTS`. Add it to `APP_HOSTS`, with `*.` for subdomains. */
export const HTTP_HOST_FOREIGN: CodedErrorClass<[host: string]> = defineError(
  'HTTP_HOST_FOREIGN',
  400,
  'The host "%s" is not one of this server.',
)

/**
 * A page of another origin has sent a request that may change something; or a proxy hides the own origin. Add an
 * exception by `_cross_origin`, `crossOrigin` or CORS; behind a proxy, set `TRUSTED_PROXIES`: see
 * docs/guides/protection.md#requests-of-other-sites.
 */
export const HTTP_CROSS_ORIGIN: CodedErrorClass<[method: string, header: string, value: string, origin: string]> =
  defineError(
    'HTTP_CROSS_ORIGIN',
    403,
    'A page of another origin has sent this %s request (%s: %s). Only pages of %s may send it.',
  )

/** There are two Host headers. Send one. */
export const HTTP_HOST_REPEATED: CodedErrorClass<[]> = defineError(
  'HTTP_HOST_REPEATED',
  400,
  'The request has more than one Host header.',
)

/** A target in absolute form (`http://host/path`) names another host than the Host header. Send the same in both. */
export const HTTP_HOST_CONFLICT: CodedErrorClass<[target: string, header: string]> = defineError(
  'HTTP_HOST_CONFLICT',
  400,
  'The request target names the host "%s" and the Host header "%s"; both must be the same.',
)

/**
 * `Forwarded` and `X-Forwarded-*` are both trusted, and differ. List in `TRUSTED_HEADERS` only the headers that the
 * proxy writes.
 */
export const HTTP_FORWARDING_CONFLICT: CodedErrorClass<[header: string]> = defineError(
  'HTTP_FORWARDING_CONFLICT',
  400,
  'The request has both a trusted "forwarded" header and a trusted "%s" header, and they differ.',
)

/**
 * A trusted header of a proxy is malformed, or its client is no address and not `unknown`. List in `TRUSTED_HEADERS`
 * only the headers that the proxy writes.
 */
export const HTTP_FORWARDING_INVALID: CodedErrorClass<[header: string, value: string]> = defineError(
  'HTTP_FORWARDING_INVALID',
  400,
  'The trusted header "%s" is malformed: "%s".',
)

/**
 * The method belongs to another protocol, such as `PROPFIND`; a method that node's parser does not know, such as `FOO`,
 * gets a plain 400. Use one of the methods in the message.
 */
export const HTTP_METHOD_UNKNOWN: CodedErrorClass<[method: string, known: string]> = defineError(
  'HTTP_METHOD_UNKNOWN',
  501,
  'The method "%s" is not implemented. Implemented are %s.',
)

/**
 * `Transfer-Encoding` is not exactly `chunked`, or comes with HTTP/1.0; the connection is closed. Send `chunked`, or a
 * `Content-Length`.
 */
export const HTTP_TRANSFER_CODING_UNSUPPORTED: CodedErrorClass<[coding: string]> = defineError(
  'HTTP_TRANSFER_CODING_UNSUPPORTED',
  501,
  'The transfer coding "%s" is not supported. Send "chunked" once, with HTTP/1.1, or a Content-Length.',
)

/** The request has more than 200 header fields. Send fewer. */
export const HTTP_HEADERS_TOO_MANY: CodedErrorClass<[count: number, limit: number]> = defineError(
  'HTTP_HEADERS_TOO_MANY',
  431,
  'The request has %s header fields; the limit is %s.',
)

/** The request line names neither HTTP/1.0 nor HTTP/1.1. Send HTTP/1.1. */
export const HTTP_VERSION_UNSUPPORTED: CodedErrorClass<[version: string]> = defineError(
  'HTTP_VERSION_UNSUPPORTED',
  505,
  'HTTP/%s is not supported. Send HTTP/1.1.',
)

/** A bundle serves a folder that does not exist, or cannot be read. Create the folder, or remove `files.add`. */
export const HTTP_ASSETS_UNREADABLE: CodedErrorClass<[name: string, directory: string, reason: string]> = defineError(
  'HTTP_ASSETS_UNREADABLE',
  500,
  'The static files of the bundle "%s" cannot be listed: the folder %s cannot be read (%s).',
)

/** A header's name or value cannot be sent. Encode it. */
export const HTTP_HEADER_INVALID: CodedErrorClass<[name: string, reason: string]> = defineError(
  'HTTP_HEADER_INVALID',
  500,
  'The header "%s" cannot be sent: %s.',
)

/** A status is not an integer from 200 to 599. Correct it. */
export const HTTP_STATUS_INVALID: CodedErrorClass<[status: unknown]> = defineError(
  'HTTP_STATUS_INVALID',
  500,
  'The status of a response must be an integer from 200 to 599, not "%s".',
)

/**
 * A redirect has no location, or a status other than 201, 301, 302, 303, 307 and 308. Pass a URL and one of these
 * statuses.
 */
export const HTTP_REDIRECT_INVALID: CodedErrorClass<[location: string, reason: string]> = defineError(
  'HTTP_REDIRECT_INVALID',
  500,
  'The redirect to "%s" cannot be sent: %s.',
)

/** A cookie has more than 4096 bytes with its name, which browsers ignore. Keep the data in the session. */
export const HTTP_COOKIE_TOO_LARGE: CodedErrorClass<[name: string, size: number, limit: number]> = defineError(
  'HTTP_COOKIE_TOO_LARGE',
  500,
  'The cookie "%s" has %s bytes with its name, but browsers ignore cookies with more than %s: keep the data in the session.',
)

/**
 * `Response.json()` or an event receives `undefined`, a function, a symbol, a BigInt or a cycle. Pass `null`, or use
 * `Response.empty()`; a BigInt as text.
 */
export const HTTP_JSON_INVALID: CodedErrorClass<[call: string, reason: string]> = defineError(
  'HTTP_JSON_INVALID',
  500,
  '%s got a value that JSON cannot represent: %s.',
)

/**
 * The stream of a response has ended, was destroyed, or answers another request. Create a new stream for each request.
 */
export const HTTP_STREAM_USED: CodedErrorClass<[]> = defineError(
  'HTTP_STREAM_USED',
  500,
  'The stream of the response was read to its end, destroyed, or sent to another client: create a new one for each request.',
)

/** An early hint is no link. Write it like `</app.css>; rel=preload; as=style`. */
export const HTTP_HINT_INVALID: CodedErrorClass<[link: string]> = defineError(
  'HTTP_HINT_INVALID',
  500,
  'The early hint "%s" cannot be sent; it must be a link such as </app.css>; rel=preload; as=style.',
)

/** `createFileResponse` finds no such file, or none in its `root`. Nothing needs to be done: the client gets a 404. */
export const HTTP_FILE_MISSING: CodedErrorClass<[name: string]> = defineError(
  'HTTP_FILE_MISSING',
  404,
  'There is no file "%s".',
)

/**
 * A `WebSocketUpgrade` is made for a request that is no handshake. Connect with `new WebSocket(…)`; a proxy has to pass
 * on `Upgrade` and `Connection`.
 */
export const HTTP_UPGRADE_REQUIRED: CodedErrorClass<[]> = defineError(
  'HTTP_UPGRADE_REQUIRED',
  426,
  'This address is for WebSockets: the request must be a WebSocket handshake over HTTP/1.1.',
)

/**
 * A page of another origin opens a WebSocket. List its origin in the `origins` of the `WebSocketUpgrade`, if it may.
 */
export const HTTP_UPGRADE_CROSS_ORIGIN: CodedErrorClass<[header: string, value: string]> = defineError(
  'HTTP_UPGRADE_CROSS_ORIGIN',
  403,
  'A page of another origin may not open this WebSocket (%s: %s).',
)

/** An event of an `EventStream` has a wrong type, id, `retry` or data. Correct it. */
export const HTTP_EVENT_INVALID: CodedErrorClass<[problem: string]> = defineError(
  'HTTP_EVENT_INVALID',
  500,
  'The event cannot be sent: %s.',
)

/**
 * More than a megabyte of events waits for the client of an `EventStream`; it is disconnected. Send less, or leave
 * events out while the stream `isBehind`.
 */
export const HTTP_EVENTS_UNREAD: CodedErrorClass<[bytes: number]> = defineError(
  'HTTP_EVENTS_UNREAD',
  500,
  'The client of an event stream does not read: %s bytes wait for it.',
)
