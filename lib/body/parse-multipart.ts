import { type FileHandle, open } from 'node:fs/promises'
import { type BodyLimits, type BodySource, ByteCollector, decodeUtf8, readStream } from './body-source.ts'
import { BODY_FIELDS_TOO_LARGE, BODY_FIELDS_TOO_MANY, BODY_FORM_INVALID } from './errors.ts'
import { FormData, UploadedFile } from './form-data.ts'
import { MultipartSplitter, type PartEvent, type PartHead, parseParameters } from './multipart.ts'
import type { TemporaryFiles } from './temporary-files.ts'

/** Bytes per batch. A client may send each byte as a chunk, and a write to a file costs more than its bytes. */
const batchSize = 64 * 1024

/**
 * Parses a form of the type `multipart/form-data` while it comes in (RFC 7578). A part with a file name is written to a
 * temporary file, any other is text in UTF-8. `limit` is the size of the whole form in bytes. After a rejection nothing is
 * read or written, and the caller removes the files.
 * @throws BODY_TOO_LARGE BODY_FIELDS_TOO_LARGE BODY_FIELDS_TOO_MANY (413)
 * @throws BODY_FORM_INVALID BODY_TEXT_INVALID BODY_TRUNCATED (400)
 */
export async function parseMultipart(
  source: BodySource,
  limit: number,
  limits: BodyLimits,
  files: TemporaryFiles,
): Promise<FormData> {
  const splitter = new MultipartSplitter(boundaryOf(source))
  const storage = new PartStorage(limits, files)
  const batch = new ByteCollector()
  const storeBatch = async () => {
    for (const event of splitter.push(batch.take())) await storage.store(event)
  }
  try {
    await readStream(source, limit, chunk => {
      batch.append(chunk)
      // The stream waits while a batch is stored, so memory holds at most a batch and a chunk.
      return batch.length < batchSize ? undefined : storeBatch()
    })
    await storeBatch()
    if (!splitter.isComplete) throw new BODY_FORM_INVALID(['it ends before its last boundary'])
    return storage.form
  } finally {
    await storage.close()
  }
}

function boundaryOf({ contentType = '' }: BodySource): string {
  const boundary = parseParameters(contentType)?.get('boundary')
  if (boundary === undefined) throw new BODY_FORM_INVALID(['its content type names no boundary'])
  // RFC 2046, 5.1.1
  if (boundary === '') throw new BODY_FORM_INVALID(['its boundary is empty'])
  if (boundary.length > 70) throw new BODY_FORM_INVALID(['its boundary is longer than 70 characters'])
  return boundary
}

/** Stores the parts of a form, one after the other. */
class PartStorage {
  readonly form: FormData = new FormData()
  readonly #limits: BodyLimits
  readonly #files: TemporaryFiles
  readonly #counts = { fields: 0, files: 0 }
  /** Bytes of all text fields together. */
  #textSize = 0
  readonly #text = new ByteCollector()
  /** The file of the current part, if it is one. */
  #file: { readonly handle: FileHandle; readonly path: string; size: number } | undefined

  constructor(limits: BodyLimits, files: TemporaryFiles) {
    this.#limits = limits
    this.#files = files
  }

  async store(event: PartEvent): Promise<void> {
    if (event.kind === 'head') await this.#begin(event.head)
    else if (event.kind === 'content') await this.#write(event.bytes)
    else await this.#end(event.head)
  }

  async close(): Promise<void> {
    await this.#file?.handle.close()
    this.#file = undefined
  }

  async #begin({ fileName }: PartHead): Promise<void> {
    const kind = fileName === undefined ? 'fields' : 'files'
    this.#counts[kind]++
    if (this.#counts[kind] > this.#limits[kind]) throw new BODY_FIELDS_TOO_MANY([this.#limits[kind], kind])
    if (kind === 'fields') return
    const path = await this.#files.createPath()
    this.#file = { handle: await open(path, 'wx', 0o600), path, size: 0 }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#file !== undefined) {
      this.#file.size += bytes.length
      // Unlike `write`, it writes all bytes.
      await this.#file.handle.appendFile(bytes)
      return
    }
    this.#textSize += bytes.length
    if (this.#textSize > this.#limits.bytes) throw new BODY_FIELDS_TOO_LARGE([this.#limits.bytes])
    this.#text.append(bytes)
  }

  async #end({ name, fileName = '', type }: PartHead): Promise<void> {
    if (this.#file !== undefined) {
      const { path, size } = this.#file
      this.form.append(name, new UploadedFile({ name: fileName, type, size, path }))
      await this.close()
      return
    }
    this.form.append(name, decodeUtf8(this.#text.take()))
  }
}
