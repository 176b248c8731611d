import { formatText } from '../format/format-soft.ts'

/** Reads the boundary that a content type names. */
export function readBoundary(contentType: string): string | undefined {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType) ?? []
  return quoted ?? plain
}

/** Writes the recorded fields of a form, and its files without their content, as a browser does (RFC 7578). */
export function encodeMultipart(
  boundary: string,
  form: readonly unknown[],
  files: readonly Readonly<Record<string, unknown>>[],
): string {
  const fields = form.filter(pair => Array.isArray(pair))
  const parts = [
    ...fields.map(([name, value]) => `${writeHead(name)}\r\n\r\n${formatText(value)}`),
    ...files.map(({ field, name, type }) => {
      const head = `${writeHead(field)}; filename="${quote(name)}"`
      return `${head}\r\ncontent-type: ${quote(type) || 'application/octet-stream'}\r\n\r\n`
    }),
  ]
  return [...parts.map(part => `--${boundary}\r\n${part}\r\n`), `--${boundary}--\r\n`].join('')
}

function writeHead(name: unknown): string {
  return `content-disposition: form-data; name="${quote(name)}"`
}

function quote(value: unknown): string {
  return formatText(value).replace(/["\r\n]/g, mark => encodeURIComponent(mark))
}
