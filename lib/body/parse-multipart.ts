import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy'
import type { BodyLimits } from './body-limits.ts'
import type { BodySource } from './body-source.ts'
import { decodeUtf8 } from './decode-utf8.ts'
import { BODY_FIELDS_TOO_LARGE, BODY_FIELDS_TOO_MANY, BODY_FORM_INVALID } from './errors.ts'
import { FormData } from './form-data.ts'
import { readStream } from './read-stream.ts'
import type { TemporaryFiles } from './temporary-files.ts'
import { UploadedFile } from './uploaded-file.ts'

/** Of the header block of one part, in bytes; what exceeds it is not seen. */
const partHeaderLimit = 8 * 1024

/**
 * Parses a form of the type `multipart/form-data` while it comes in (RFC 7578): a part with a file name goes to a
 * temporary file, any other is text in UTF-8. `limit` is for the whole form, in bytes. When this rejects, nothing is
 * read or written any more; the files that were begun are the caller's to remove.
 * @throws BODY_TOO_LARGE BODY_FIELDS_TOO_LARGE BODY_FIELDS_TOO_MANY (413)
 * @throws BODY_FORM_INVALID BODY_TEXT_INVALID BODY_TRUNCATED (400)
 */
export async function parseMultipart(
  source: BodySource,
  limit: number,
  limits: BodyLimits,
  files: TemporaryFiles,
): Promise<FormData> {
  const parser = await createParser(source, limits)
  // The first failure, wherever it happens, ends everything and is what the caller is told.
  const failure = new AbortController()
  const fail = (reason: unknown) => failure.abort(reason)
  const form = new FormData()
  const store = createStore(form, limits.bytes, files, failure.signal)
  // One part after the other: fields keep their order, and one file is open at a time.
  let stored = Promise.resolve()

  const counts = { fields: 0, files: 0 }
  parser.on('file', (name: string | undefined, content, fileName: string | undefined, _encoding, type) => {
    // Emitted when the form ends too early, which the parser tells as well.
    content.on('error', ignore)
    if (name === undefined) return fail(new BODY_FORM_INVALID(['a part has no name']))
    const kind = fileName === undefined ? 'fields' : 'files'
    if (++counts[kind] > limits[kind]) return fail(new BODY_FIELDS_TOO_MANY([limits[kind], kind]))
    stored = stored.then(() => store({ name, content, fileName, type }))
    stored.catch(fail)
  })
  parser.on('partsLimit', () => fail(new BODY_FIELDS_TOO_MANY([limits.fields + limits.files, 'parts'])))
  parser.on('error', cause => fail(new BODY_FORM_INVALID(['it ends before its last boundary'], { cause })))

  try {
    // It may finish before the stream does: what follows the last boundary does not matter.
    const finish = untilFinish(parser, failure.signal)
    const write = (chunk: Uint8Array) =>
      parser.write(chunk) ? undefined : new Promise<void>(resolve => parser.once('drain', resolve))
    await readStream(source, limit, write, failure.signal)
    parser.end()
    await finish
    await stored
    return form
  } catch (error) {
    fail(error)
    await stored.catch(ignore)
    throw failure.signal.reason
  }
}

async function createParser({ contentType = '' }: BodySource, limits: BodyLimits): Promise<BusboyInstance> {
  // Most applications never need it, and none at start.
  const { Busboy } = await import('@fastify/busboy')
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { headerSize: partHeaderLimit, parts: limits.fields + limits.files },
      // It would hold text without a common bound and replace what is not UTF-8: text and files come the same way.
      isPartAFile: () => true,
      preservePath: true,
    })
  } catch (cause) {
    throw new BODY_FORM_INVALID(['its content type names no boundary'], { cause })
  }
}

interface Part {
  readonly name: string
  readonly content: BusboyFileStream
  readonly fileName: string | undefined
  readonly type: string
}

/** Gives the function that adds a part to the form; all text together may have `textLimit` bytes. */
function createStore(
  form: FormData,
  textLimit: number,
  files: TemporaryFiles,
  signal: AbortSignal,
): (part: Part) => Promise<void> {
  let textSize = 0

  const readText = async (content: AsyncIterable<Uint8Array>): Promise<string> => {
    const chunks: Uint8Array[] = []
    for await (const chunk of content) {
      textSize += chunk.length
      if (textSize > textLimit) throw new BODY_FIELDS_TOO_LARGE([textLimit])
      chunks.push(chunk)
    }
    return decodeUtf8(Buffer.concat(chunks))
  }

  return async ({ name, content, fileName, type }) => {
    signal.throwIfAborted()
    if (fileName === undefined) {
      form.append(unescapeName(name), await pipeline(content, readText, { signal }))
      return
    }
    const path = await files.createPath()
    const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
    await pipeline(content, file, { signal })
    form.append(
      unescapeName(name),
      new UploadedFile({ name: toFileName(fileName), type, size: file.bytesWritten, path }),
    )
  }
}

function untilFinish(parser: BusboyInstance, signal: AbortSignal): Promise<void> {
  const finish = new Promise<void>((resolve, reject) => {
    parser.once('finish', resolve)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  // Nobody waits for it when reading fails first.
  finish.catch(ignore)
  return finish
}

/** Undoes what browsers do to names, as the Fetch Standard says: they escape three characters, and nothing else. */
function unescapeName(name: string): string {
  return name.replace(/%(?:22|0D|0A)/g, escaped => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))
}

/** The last segment, whichever system the path is from, without control characters and marks that turn text round. */
function toFileName(sent: string): string {
  const visible = unescapeName(sent).replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, '')
  const name = visible.slice(Math.max(visible.lastIndexOf('/'), visible.lastIndexOf('\\')) + 1)
  return name === '.' || name === '..' ? '' : name
}

function ignore(): void {}
