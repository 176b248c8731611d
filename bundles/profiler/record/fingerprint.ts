import { createHash } from 'node:crypto'
import { errorChain } from '../../../lib/errors/flat-error.ts'
import type { Request } from '../../../lib/http/request.ts'
import { TextMemo } from '../../../lib/text/text-memo.ts'
import type { ExceptionData, RecordedException } from '../profile/code-data.ts'
import type { Excerpt } from '../profile/schema.ts'

const length = 8

/**
 * The fingerprint of the last exception: the same for each occurrence of an error, whatever its message contains. It is a hash of
 * the class, the code, and the innermost place in the application: file, function, and the text of the line, so that it
 * stays when lines move. An error without such a place has that of its route; `null` without a route.
 */
export function fingerprintOf({ exceptions, excerpts }: ExceptionData, route: string | null): string | null {
  const exception = exceptions.at(-1)
  if (exception === undefined) return null
  const { code = '', name } = exception
  const place = findPlace(exception, excerpts) ?? (route === null ? undefined : [route])
  if (place === undefined) return null
  return hash(JSON.stringify([name, code, ...place]))
}

/** Clients send many requests, and a hash costs as much as the rest of a summary. */
const clients = new TextMemo<string>(100, 500)

/** The fingerprint of a client, for the requests of one browser: a hash of its IP and user agent. */
export function clientOf({ clientIp, headers }: Request): string {
  const client = JSON.stringify([clientIp, headers.get('user-agent')])
  const known = clients.get(client)
  if (known !== undefined) return known
  const fingerprint = hash(client)
  clients.set(client, fingerprint)
  return fingerprint
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length)
}

function findPlace(exception: RecordedException, excerpts: readonly Excerpt[]): unknown[] | undefined {
  const frames = errorChain(exception).flatMap(({ frames }) => frames)
  const frame = frames.find(({ origin }) => origin === 'application')
  if (frame === undefined) return undefined
  const { call, file, line = 0 } = frame
  const source = excerpts.find(excerpt => excerpt.file === file && excerpt.line === line)
  return [file, call, source?.lines[line - source.start]?.trim() ?? line]
}
