/** A page as text, or as bytes of an encoding that has ASCII in it. */
export type Page = string | Uint8Array

/** Where the last `</body>` of a page begins; `undefined` when it has none. */
export function findBodyEnd(page: Page): number | undefined {
  // One character for each byte: whatever else the bytes say, the end of a body is ASCII.
  const text = typeof page === 'string' ? page : toBuffer(page).toString('latin1')
  const pattern = /<\/body\s*>/iy
  // From the end: it is the last tag but one, mostly.
  for (let at = text.lastIndexOf('</'); at !== -1; at = at === 0 ? -1 : text.lastIndexOf('</', at - 1)) {
    pattern.lastIndex = at
    if (pattern.test(text)) return at
  }
  return undefined
}

/** Puts a tag, which is plain ASCII, into a page. */
export function insertTag(page: Page, at: number, tag: string): Page {
  if (typeof page === 'string') return page.slice(0, at) + tag + page.slice(at)
  const bytes = toBuffer(page)
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(tag), bytes.subarray(at)])
}

function toBuffer({ buffer, byteLength, byteOffset }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
