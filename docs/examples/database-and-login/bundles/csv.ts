import { contentDisposition, Response } from 'sinfonietta'

/** A download of rows. Spreadsheets see by the first character that the text is UTF-8. */
export function createCsvResponse(name: string, rows: readonly (readonly unknown[])[]): Response {
  const headers = { 'content-type': 'text/csv; charset=UTF-8', 'content-disposition': contentDisposition(name) }
  return Response.text(`\uFEFF${toCsv(rows)}`, { headers })
}

/** Rows as CSV (RFC 4180). A cell that a spreadsheet would run as a formula begins with an apostrophe. */
export function toCsv(rows: readonly (readonly unknown[])[]): string {
  return rows.map(row => `${row.map(toCell).join(',')}\r\n`).join('')
}

function toCell(value: unknown): string {
  const text = String(value ?? '').replace(/^[\s]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/, "'$&")
  return `"${text.replaceAll('"', '""')}"`
}
