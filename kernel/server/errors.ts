import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

/** Another program listens on the port. Choose another one with `--port`. */
export const SERVER_PORT_TAKEN: CodedErrorClass<[port: number, host: string]> = defineError(
  'SERVER_PORT_TAKEN',
  500,
  'Port %s of %s is taken by another program; choose another one with --port.',
)

/** The certificate and the key do not belong together, or are not PEM. Pass the two files of one pair. */
export const SERVER_TLS_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'SERVER_TLS_INVALID',
  500,
  'The certificate and the key are not a pair that TLS can use: %s.',
)

/** The address does not belong to this machine, or the port is not allowed. Check `--host` and `--port`. */
export const SERVER_LISTEN_FAILED: CodedErrorClass<[address: string, reason: string]> = defineError(
  'SERVER_LISTEN_FAILED',
  500,
  'The server cannot listen on %s: %s.',
)

/**
 * A stream of a response has a chunk that is neither text nor bytes, or more or fewer bytes than its Content-Length.
 * Send text or bytes, and the right length or none.
 */
export const SERVER_STREAM_INVALID: CodedErrorClass<[problem: string]> = defineError(
  'SERVER_STREAM_INVALID',
  500,
  'The stream of a response cannot be sent: %s.',
)
