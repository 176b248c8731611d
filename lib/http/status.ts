import { STATUS_CODES } from 'node:http'

/** The reason phrase of a status: `Not Found` for 404, `unknown status` for one without a name. */
export function statusText(status: number): string {
  return STATUS_CODES[status] ?? 'unknown status'
}

/** Whether a response of this status never has a body (RFC 9110, section 6.4.1). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}
