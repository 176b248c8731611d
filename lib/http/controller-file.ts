import { createReadStream, type Stats } from 'node:fs'
import { realpath, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { ARGUMENT_INVALID, checkOptions } from '../errors/arguments.ts'
import { describeValue } from '../text/describe-value.ts'
import type { ShapeOf } from '../text/shape.ts'
import { contentDisposition, type Disposition } from './content-disposition.ts'
import { HTTP_FILE_MISSING } from './errors.ts'
import { type ByteRange, describeFile, respondWithFile } from './file-response.ts'
import type { Request } from './request.ts'
import { type Body, Response, type ResponseInit } from './response.ts'

/** How a file is sent. */
export interface FileResponseOptions {
  /**
   * The folder that contains the file: the path is then relative to it, and may come from a request. Files outside of it,
   * also by symbolic links, and names that begin with a dot are not found.
   */
  readonly root?: string
  /** The name for the client, which also determines the content type. By default the name of the file. */
  readonly name?: string
  /**
   * `attachment`, the default, is saved by a browser; `inline` is shown. An HTML or SVG file of a user that is shown inline
   * can run scripts on your site.
   */
  readonly disposition?: Disposition
  /** Deletes the file when the request is over, even if its client has left, or another response has taken its place. */
  readonly deleteAfterSending?: boolean
}

const optionShape: ShapeOf<FileResponseOptions> = {
  root: 'string',
  name: 'string',
  disposition: 'string',
  deleteAfterSending: 'boolean',
}

/** A response with a file, made by {@link createFileResponse}. */
export class FileResponse extends Response {
  /** The absolute path of the file. */
  readonly file: string
  readonly contentType: string
  /** Whether the file is deleted after sending. */
  readonly isTemporary: boolean

  constructor(
    file: string,
    isTemporary: boolean,
    body: Body,
    { contentType, ...init }: ResponseInit & { contentType: string },
  ) {
    super(body, init)
    this.file = file
    this.contentType = contentType
    this.isTemporary = isTemporary
  }
}

/**
 * Creates a response with a file, for a controller: type by its name, Content-Disposition, a strong etag of time and size,
 * conditions and ranges (RFC 9110, sections 13 and 14). A file that is deleted after sending is sent as a whole.
 *
 * @throws HTTP_FILE_MISSING (404) ARGUMENT_INVALID
 */
export async function createFileResponse(
  request: Request,
  file: string,
  options: FileResponseOptions = {},
): Promise<FileResponse> {
  checkOptions('createFileResponse()', options, optionShape)
  if (typeof file !== 'string') {
    throw new ARGUMENT_INVALID(['createFileResponse()', `the path of the file is a text, not ${describeValue(file)}`])
  }
  const { deleteAfterSending = false, disposition, root } = options
  const found = root === undefined ? path.resolve(file) : await findWithin(root, file)
  const stats = found === undefined ? undefined : await stat(found).catch(() => undefined)
  if (found === undefined || !stats?.isFile()) throw new HTTP_FILE_MISSING([path.basename(file)])
  const { name = path.basename(found) } = options
  const headers = await describeFile(name, stats)
  const contentType = headers.get('content-type') ?? ''
  headers.set('content-disposition', contentDisposition(name, disposition))
  if (deleteAfterSending) {
    deleteAtEnd(request, found)
    headers.delete('last-modified')
    headers.set('content-length', String(stats.size))
    return new FileResponse(found, true, readLazily(found), { headers, contentType })
  }
  headers.set('etag', toEtag(stats))
  const response = respondWithFile(request, headers, stats.size, range => readLazily(found, range))
  return new FileResponse(found, false, response.body, {
    status: response.status,
    headers: response.headers,
    contentType,
  })
}

/** The real path of a file in a folder; `undefined` if it is not there. */
async function findWithin(root: string, file: string): Promise<string | undefined> {
  if (file.split(/[\\/]/).some(segment => segment.startsWith('.'))) return undefined
  try {
    const folder = await realpath(root)
    const found = await realpath(path.join(folder, file))
    return found.startsWith(folder + path.sep) ? found : undefined
  } catch {
    // It does not exist, or the name has a NUL character.
    return undefined
  }
}

/** Strong: a file that changes twice in a microsecond keeps its tag. */
function toEtag({ mtimeMs, size }: Stats): string {
  return `"${Math.round(mtimeMs * 1000).toString(16)}-${size.toString(16)}"`
}

/** A response that is replaced is never read: its file is opened with the first read. */
function readLazily(file: string, range?: ByteRange): Readable {
  async function* read() {
    yield* createReadStream(file, range)
  }
  return Readable.from(read())
}

/** The kernel deletes the file after the main request. */
function deleteAtEnd(request: Request, file: string): void {
  if (request.parent !== undefined) {
    deleteAtEnd(request.parent, file)
    return
  }
  const { attributes } = request
  attributes.set('_temporary_files', [...(attributes.get('_temporary_files') ?? []), file])
}

/** Removes the temporary files of a main request: those of its body, and those of {@link createFileResponse}. Never rejects. */
export async function removeFiles({ attributes, body }: Request): Promise<void> {
  // A file that is gone, or cannot be deleted, does not keep the others.
  const files = attributes.get('_temporary_files') ?? []
  await Promise.allSettled([body.dispose(), ...files.map(file => unlink(file))])
}
