/** Whether a browser shows a file or saves it. */
export type Disposition = 'attachment' | 'inline'

/**
 * The value of a Content-Disposition header with the name of a file (RFC 6266). Only the last part of a path is used. A name
 * with other characters than simple ones of ASCII is sent as UTF-8 (RFC 8187), beside a substitute for old clients.
 */
export function contentDisposition(name: string, disposition: Disposition = 'attachment'): string {
  const clean = cleanName(name)
  const simple = clean.replace(/[^\x20-\x7e]|["%]/g, '_')
  const plain = `${disposition}; filename="${simple}"`
  return simple === clean ? plain : `${plain}; filename*=UTF-8''${encode(clean)}`
}

/** Without folders, control characters, and characters that reverse the direction of the text. */
function cleanName(name: string): string {
  const last = name.toWellFormed().replace(/^.*[\\/]/s, '')
  const clean = last.replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '_').trim()
  return /^\.*$/.test(clean) ? 'file' : clean
}

/** `encodeURIComponent` leaves four characters that RFC 8187, section 3.2.1, does not allow. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
