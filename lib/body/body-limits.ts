/** How much of a body is accepted. */
export interface BodyLimits {
  /** Bytes that may lie in memory: a whole body, or the text fields of a multipart form together. */
  readonly bytes: number
  /** Bytes of a whole multipart form, its files included. */
  readonly multipartBytes: number
  /** Text fields of a form. */
  readonly fields: number
  /** Files of a multipart form. */
  readonly files: number
  /** Levels of nesting in JSON; a plain value has none. */
  readonly jsonDepth: number
}

/** What is accepted unless an application or a route says otherwise. */
export const defaultBodyLimits: BodyLimits = {
  bytes: 1024 ** 2,
  multipartBytes: 10 * 1024 ** 2,
  fields: 1000,
  files: 100,
  jsonDepth: 64,
}
