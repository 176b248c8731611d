/**
 * How many columns of a terminal a text takes: two for wide characters (Unicode Standard Annex 11) and for emoji, none for
 * what is combined with the character before it. The text has no control characters.
 */
export function displayWidth(text: string): number {
  if (isPlain(text)) return text.length
  return graphemesOf(text).reduce((width, grapheme) => width + graphemeWidth(grapheme), 0)
}

/** Cuts a text that is wider than so many columns, and says so with `…`; from its start where its end tells more. */
export function fitWidth(text: string, width: number, cut: 'end' | 'start' = 'end'): string {
  if (displayWidth(text) <= width) return text
  if (width <= 0) return ''
  const graphemes = isPlain(text) ? [...text] : graphemesOf(text)
  if (cut === 'start') graphemes.reverse()
  const kept: string[] = []
  let left = width - 1
  for (const grapheme of graphemes) {
    left -= graphemeWidth(grapheme)
    if (left < 0) break
    kept.push(grapheme)
  }
  return cut === 'start' ? `…${kept.reverse().join('')}` : `${kept.join('')}…`
}

/** Parts a text where it is so wide; no character is cut in two. */
export function splitWidth(text: string, width: number): [start: string, rest: string] {
  if (isPlain(text)) return [text.slice(0, width), text.slice(width)]
  let start = ''
  let left = width
  for (const grapheme of graphemesOf(text)) {
    left -= graphemeWidth(grapheme)
    if (left < 0) break
    start += grapheme
  }
  return [start, text.slice(start.length)]
}

/** Fills a text with spaces up to so many columns. */
export function padWidth(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const padding = ' '.repeat(Math.max(0, width - displayWidth(text)))
  return align === 'right' ? padding + text : text + padding
}

/** Nearly all texts are ASCII, and need no look at their characters. */
function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

let segmenter: Intl.Segmenter | undefined

function graphemesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

const wide =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\ufe0f/u
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u

function graphemeWidth(grapheme: string): number {
  if (wide.test(grapheme)) return 2
  return invisible.test(grapheme) ? 0 : 1
}
