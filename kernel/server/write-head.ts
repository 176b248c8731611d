import type { ServerResponse } from 'node:http'
import type { Response } from '../../lib/http/response.ts'

/** Writes the status and the headers of a response; they are sent with its first bytes. */
export function writeHead(target: ServerResponse, { headers, status }: Response): void {
  // A flat list of names and values: node takes it as it is.
  target.writeHead(status, headers.toRaw() as string[])
}
