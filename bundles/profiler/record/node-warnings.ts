/** The channel of the warnings of Node.js about an object with too many listeners of an event. */
export const leakChannel = 'listeners'

/**
 * The warnings of Node.js and of packages that are recorded as log messages: the channels of the
 * messages, by their names.
 */
export const warningChannels: ReadonlyMap<string, string> = new Map([
  ['DeprecationWarning', 'deprecation'],
  ['MaxListenersExceededWarning', leakChannel],
])

/**
 * Whether Node.js prints such a warning with these values of `console.error`: it is a log message
 * already, so `console/` leaves it out.
 */
export function isRecordedWarning([text]: readonly unknown[]): boolean {
  if (typeof text !== 'string' || !text.startsWith(`(node:${process.pid}) `)) return false
  return [...warningChannels.keys()].some(name => text.includes(`${name}: `))
}

/**
 * The codes with which Node refuses a second head, and a body after the end of the response; and
 * Fastify a second response.
 */
const repeatedAnswers: ReadonlySet<unknown> = new Set([
  ...['ERR_HTTP_HEADERS_SENT', 'ERR_HTTP2_HEADERS_SENT', 'ERR_STREAM_WRITE_AFTER_END'],
  'FST_ERR_REP_ALREADY_SENT',
])

/** Whether the code of an error says that an application answers a request for the second time. */
export function isRepeatedAnswer(code: unknown): boolean {
  return repeatedAnswers.has(code)
}
