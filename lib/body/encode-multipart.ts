/** A field of a form, or a file in it. */
export interface MultipartPart {
  readonly field: string
  readonly content: string | Uint8Array
  /** What a file is called, and its type: binary unless told else. */
  readonly file?: { readonly name: string; readonly type?: string | undefined }
}

/** Writes the body of a form of the type `multipart/form-data` as a browser does (RFC 7578). */
export function encodeMultipart(boundary: string, parts: readonly MultipartPart[]): Buffer {
  const pieces = parts.flatMap(part => [`--${boundary}\r\n${writeHead(part)}\r\n\r\n`, part.content, '\r\n'])
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map(piece => Buffer.from(piece)))
}

function writeHead({ field, file }: MultipartPart): string {
  const head = `content-disposition: form-data; name="${quote(field)}"`
  if (file === undefined) return head
  return `${head}; filename="${quote(file.name)}"\r\ncontent-type: ${(file.type || 'application/octet-stream').replace(/[\r\n]/g, encodeURIComponent)}`
}

function quote(text: string): string {
  return text.replace(/["\r\n]/g, mark => encodeURIComponent(mark))
}
