import { createHash } from 'node:crypto'
import { errorChain } from '../../../lib/errors/flat-error.ts'
import type { Request } from '../../../lib/http/request.ts'
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
  return hash([name, code, ...place])
}

/** The fingerprint of a client, for the requests of one browser: a hash of its IP and user agent. */
export function clientOf({ clientIp, headers }: Request): string {
  return hash([clientIp, headers.get('user-agent')])
}

function hash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, length)
}

function findPlace(exception: RecordedException, excerpts: readonly Excerpt[]): unknown[] | undefined {
  const frames = errorChain(exception).flatMap(({ frames }) => frames)
  const frame = frames.find(({ origin }) => origin === 'application')
  if (frame === undefined) return undefined
  const { call, file, line = 0 } = frame
  const source = excerpts.find(excerpt => excerpt.file === file && excerpt.line === line)
  return [file, call, source?.lines[line - source.start]?.trim() ?? line]
}
