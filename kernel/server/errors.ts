import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

export const SERVER_PORT_TAKEN: CodedErrorClass<[port: number, host: string]> = defineError(
  'SERVER_PORT_TAKEN',
  500,
  'Port %s of %s is taken by another program; choose another one with --port.',
)

export const SERVER_TLS_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'SERVER_TLS_INVALID',
  500,
  'The certificate and the key are not a pair that TLS can use: %s.',
)

export const SERVER_LISTEN_FAILED: CodedErrorClass<[address: string, reason: string]> = defineError(
  'SERVER_LISTEN_FAILED',
  500,
  'The server cannot listen on %s: %s.',
)

export const SERVER_STREAM_INVALID: CodedErrorClass<[problem: string]> = defineError(
  'SERVER_STREAM_INVALID',
  500,
  'The stream of a response cannot be sent: %s.',
)
