/** Characters that stay encoded: they are invisible, change the direction of the text, or have a meaning in a URL. */
const unreadable = /[\p{C}\p{Z}%;/?:@&=+$,#]/u

/**
 * Decodes a URL for people: `/日本` instead of `/%E6%97%A5%E6%9C%AC`. Sequences that are no text, invisible characters, and
 * those with a meaning in a URL stay encoded. The result is for reading only.
 */
export function toReadableUrl(url: string): string {
  if (!url.includes('%')) return url
  return url.replace(/(?:%[0-9a-f]{2})+/gi, sequence => {
    try {
      return Array.from(decodeURIComponent(sequence), each =>
        unreadable.test(each) ? encodeURIComponent(each) : each,
      ).join('')
    } catch {
      return sequence
    }
  })
}
