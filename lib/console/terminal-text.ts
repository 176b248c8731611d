import { styleText } from 'node:util'

/**
 * Computes the width of a text in columns of a terminal: two for wide characters (Unicode Standard Annex 11) and emoji,
 * none for combining characters. The text has no control characters.
 */
export function displayWidth(text: string): number {
  if (isPlain(text)) return text.length
  return graphemesOf(text).reduce((width, grapheme) => width + graphemeWidth(grapheme), 0)
}

/** Cuts a text to a width in columns. A `…` stands for the part that was cut off, at the end or at the start. */
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

/**
 * Splits a text into pieces that are as wide as possible: the first one at most `first` columns (may be 0), the others
 * at most `width` (at least 2). No character is cut in two. The time is proportional to the length of the text.
 */
export function splitWidth(text: string, first: number, width: number): string[] {
  if (isPlain(text)) return splitPlain(text, first, width)
  const pieces: string[] = []
  let start = 0
  let end = 0
  let left = first
  for (const grapheme of graphemesOf(text)) {
    left -= graphemeWidth(grapheme)
    if (left < 0) {
      pieces.push(text.slice(start, end))
      start = end
      left = width - graphemeWidth(grapheme)
    }
    end += grapheme.length
  }
  return [...pieces, text.slice(start)]
}

function splitPlain(text: string, first: number, width: number): string[] {
  const pieces = [text.slice(0, first)]
  for (let start = first; start < text.length; start += width) pieces.push(text.slice(start, start + width))
  return pieces
}

/** Fills a text with spaces up to a width in columns. */
export function padWidth(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const padding = ' '.repeat(Math.max(0, width - displayWidth(text)))
  return align === 'right' ? padding + text : text + padding
}

/** Nearly all texts are ASCII, where each character is one column wide. */
function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

let segmenter: Intl.Segmenter | undefined

/** Code units that are segmented at once: a segmenter takes seconds for a long text, milliseconds for its parts. */
const stretch = 512

function graphemesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  const graphemes: string[] = []
  let start = 0
  let length = stretch
  while (start < text.length) {
    const end = start + length
    // Half of a surrogate pair would end the grapheme before it.
    const part = text.slice(start, isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end)
    const found = Array.from(segmenter.segment(part), ({ segment }) => segment)
    // The last grapheme may go on behind this part.
    if (end < text.length) found.pop()
    for (const grapheme of found) {
      graphemes.push(grapheme)
      start += grapheme.length
    }
    length = found.length > 0 ? stretch : 2 * length
  }
  return graphemes
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

const wide =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\ufe0f/u
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u

function graphemeWidth(grapheme: string): number {
  if (wide.test(grapheme)) return 2
  return invisible.test(grapheme) ? 0 : 1
}

/** A text of one tone. */
export interface Run {
  readonly text: string
  readonly tone: TextTone
}

/** The columns at which a text is wrapped. The indent is left free on each line. */
interface WrapOptions {
  readonly indent: number
  /** Without a width nothing is wrapped. */
  readonly width: number | undefined
  readonly paint: Paint
}

/** The least room of a line, in columns. */
const least = 16

/** Wraps a text at spaces. A word that is wider than a line is cut into pieces. */
export function wrap(runs: readonly Run[], { indent, paint, width }: WrapOptions): string {
  const room = width === undefined ? Number.POSITIVE_INFINITY : Math.max(least, width - indent)
  const lines: Run[][] = [[]]
  let left = room
  const begin = () => {
    lines.push([])
    left = room
  }
  const add = ({ text, tone }: Run) => {
    for (const [index, piece] of splitWidth(text, left, room).entries()) {
      if (index > 0) begin()
      lines.at(-1)?.push({ text: piece, tone })
      left -= displayWidth(piece)
    }
  }
  for (const { blank, word } of toWords(runs)) {
    const length = word.reduce((sum, { text }) => sum + displayWidth(text), displayWidth(blank))
    // A word that fits in no line begins on the current one if there is room.
    if (length > left && (length <= room || left < least)) begin()
    else if (blank !== '') add({ text: blank, tone: lines.at(-1)?.at(-1)?.tone ?? 'plain' })
    for (const run of word) add(run)
  }
  return lines.map(line => paintLine(line, paint)).join(`\n${' '.repeat(indent)}`)
}

/** Splits runs into words, which may have several tones, with the spaces before each. */
function toWords(runs: readonly Run[]): { readonly blank: string; readonly word: readonly Run[] }[] {
  const words: { blank: string; word: Run[] }[] = []
  let blank = ''
  let word: Run[] | undefined
  for (const { text, tone } of runs) {
    for (const piece of text.match(/ +|[^ ]+/g) ?? []) {
      if (piece.startsWith(' ')) {
        blank += piece
        word = undefined
        continue
      }
      if (word === undefined) {
        word = []
        words.push({ blank, word })
        blank = ''
      }
      word.push({ text: piece, tone })
    }
  }
  return words
}

/** Neighbouring runs of one tone are painted together. */
function paintLine(line: readonly Run[], paint: Paint): string {
  const runs: Run[] = []
  for (const { text, tone } of line) {
    const last = runs.at(-1)
    if (last === undefined || last.tone !== tone) runs.push({ text, tone })
    else runs[runs.length - 1] = { text: last.text + text, tone }
  }
  return runs.map(({ text, tone }) => paint(tone, text)).join('')
}

/** The meaning of a text, which decides its colour. */
export type TextTone = 'plain' | 'strong' | 'muted' | 'ok' | 'warning' | 'error'

/** Colours a text by its tone. */
export type Paint = (tone: TextTone, text: string) => string

const formats = {
  strong: 'bold',
  muted: 'gray',
  ok: 'green',
  warning: 'yellow',
  error: 'red',
} as const satisfies Record<Exclude<TextTone, 'plain'>, string>

/** Leaves texts unchanged: for pipes and files. */
export const paintNothing: Paint = (_tone, text) => text

/** Colours texts with the escape sequences of terminals. */
export const paintColours: Paint = (tone, text) =>
  tone === 'plain' || text === '' ? text : styleText(formats[tone], text, { validateStream: false })
