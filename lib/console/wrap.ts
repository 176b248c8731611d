import { displayWidth, splitWidth } from './display-width.ts'
import type { Paint, Tone } from './paint.ts'

/** A text that stands out in one way. */
export interface Run {
  readonly text: string
  readonly tone: Tone
}

/** Where a text is wrapped: at so many columns, of which the first ones are taken on every line. */
export interface WrapOptions {
  readonly indent: number
  /** Nothing is wrapped without one. */
  readonly width: number | undefined
  readonly paint: Paint
}

/** Fewer columns are not worth a line. */
const least = 16

/** Writes a text that goes on below itself where it has no room. What has no spaces is cut into pieces. */
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
    // What fits nowhere begins where there is room.
    if (length > left && (length <= room || left < least)) begin()
    else if (blank !== '') add({ text: blank, tone: lines.at(-1)?.at(-1)?.tone ?? 'plain' })
    for (const run of word) add(run)
  }
  return lines.map(line => paintLine(line, paint)).join(`\n${' '.repeat(indent)}`)
}

/** Texts without spaces, which may stand out in several ways, and the spaces before each. */
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

/** Neighbours of one tone are painted as one. */
function paintLine(line: readonly Run[], paint: Paint): string {
  const runs: Run[] = []
  for (const { text, tone } of line) {
    const last = runs.at(-1)
    if (last === undefined || last.tone !== tone) runs.push({ text, tone })
    else runs[runs.length - 1] = { text: last.text + text, tone }
  }
  return runs.map(({ text, tone }) => paint(tone, text)).join('')
}
