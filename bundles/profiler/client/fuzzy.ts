/** How well a text matches, and the positions of the letters that do. */
export interface FuzzyMatch {
  readonly score: number
  readonly positions: readonly number[]
}

/**
 * Matches a query with a text, without regard to capitals. Every word of the query must occur in the text. In the first
 * `labelLength` characters its letters may also be apart, such as `rr` in `Request / Response`. Words in the label, at the
 * beginning of a word, and early in the text count more.
 */
export function matchFuzzily(query: string, text: string, labelLength: number = text.length): FuzzyMatch | undefined {
  const lower = text.toLowerCase()
  const begins = Array.from(lower.matchAll(/[\p{L}\d]+/gu), ({ index }) => index)
  const positions: number[] = []
  let score = 0
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const found = findWord(word, lower, begins) ?? findLetters(word, lower.slice(0, labelLength), begins)
    if (found === undefined) return undefined
    const first = Math.min(...found.positions)
    score += found.score + (first < labelLength ? 40 : 0) - Math.min(first, 30) / 10
    positions.push(...found.positions)
  }
  return { score, positions }
}

function findWord(word: string, text: string, begins: readonly number[]): FuzzyMatch | undefined {
  const begin = begins.find(at => text.startsWith(word, at))
  const at = begin ?? text.indexOf(word)
  if (at === -1) return undefined
  return { score: begin === undefined ? 60 : 100, positions: Array.from(word, (_, index) => at + index) }
}

/** Finds the letters of a word, each at the beginning of a word if possible. */
function findLetters(word: string, text: string, begins: readonly number[]): FuzzyMatch | undefined {
  const positions: number[] = []
  let from = 0
  for (const letter of word) {
    const at = begins.find(begin => begin >= from && text.startsWith(letter, begin)) ?? text.indexOf(letter, from)
    if (at === -1) return undefined
    positions.push(at)
    from = at + 1
  }
  return { score: 30 - Math.min(from - Math.min(...positions), 25), positions }
}
