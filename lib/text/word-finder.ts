/**
 * Finds which of many words are in a text, in one pass (Aho and Corasick, 1975). Case does not
 * matter, a digit is any digit, and no small letter may follow a word with a `$` behind it.
 */
export class WordFinder {
  /** The class of each ASCII character, and of other characters; 0 for those of no word. */
  readonly #classes = new Uint8Array(128)
  readonly #others = new Map<number, number>()
  readonly #width: number
  /** The next state, by state and class of a character. */
  readonly #next: Uint16Array
  /** The groups of the words that end in a state, all of them and those without a `$`. */
  readonly #found: Int32Array
  readonly #always: Int32Array

  /** Each list has words between `¦`. The lists are bits of the result: 1, 2, 4 and so on. */
  constructor(lists: readonly string[]) {
    const folded = lists.map(list => list.replace(/[A-Z]/g, letter => letter.toLowerCase()).replace(/\d/g, '0'))
    const characters = [...new Set(folded.join(''))]
    for (const [index, character] of characters.entries()) this.#addCharacter(character, index + 1)
    const width = characters.length + 1
    // There are at most as many states as characters.
    const room = folded.join('').length + 1
    const next = new Uint16Array(room * width)
    const found = new Int32Array(room)
    const always = new Int32Array(room)
    /** The classes of the characters that go on, by state. */
    const children: number[][] = [[]]
    for (const [group, list] of folded.entries()) {
      for (const word of list.split('¦').filter(Boolean)) {
        let state = 0
        const length = word.endsWith('$') ? word.length - 1 : word.length
        for (let at = 0; at < length; at++) {
          const character = this.#classOf(word.charCodeAt(at))
          const key = state * width + character
          if (next[key] === 0) {
            next[key] = children.push([]) - 1
            children[state]?.push(character)
          }
          state = next[key] as number
        }
        found[state] = (found[state] ?? 0) | (1 << group)
        if (length === word.length) always[state] = (always[state] ?? 0) | (1 << group)
      }
    }
    // Where no word goes on, the search does with the longest beginning of a word that ends there.
    const shorter = new Uint16Array(children.length)
    const queue = [0]
    for (const state of queue) {
      const start = state * width
      const begin = (shorter[state] ?? 0) * width
      const own = (children[state] ?? []).map(character => [character, next[start + character] ?? 0] as const)
      if (state !== 0) next.copyWithin(start, begin, begin + width)
      for (const [character, child] of own) {
        const after = state === 0 ? 0 : (next[start + character] ?? 0)
        next[start + character] = child
        queue.push(child)
        shorter[child] = after
        found[child] = (found[child] ?? 0) | (found[after] ?? 0)
        always[child] = (always[child] ?? 0) | (always[after] ?? 0)
      }
    }
    this.#width = width
    this.#next = next.slice(0, children.length * width)
    this.#found = found
    this.#always = always
  }

  /** The groups of the words in a text. The ends of the words of the first list are added to `places`. */
  find(text: string, places?: number[]): number {
    const [next, found, classes, width] = [this.#next, this.#found, this.#classes, this.#width]
    let state = 0
    let groups = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      state = next[state * width + (code < 128 ? (classes[code] as number) : this.#classOf(code))] as number
      if (found[state] === 0) continue
      const group = (isSmall(text.charCodeAt(at + 1)) ? this.#always : found)[state] as number
      groups |= group
      if (places !== undefined && (group & 1) !== 0) places.push(at)
    }
    return groups
  }

  #classOf(code: number): number {
    return code < 128 ? (this.#classes[code] as number) : (this.#others.get(code) ?? 0)
  }

  #addCharacter(character: string, number: number): void {
    for (const each of character === '0' ? '0123456789' : [character, character.toUpperCase()]) {
      const code = each.charCodeAt(0)
      if (code < 128) this.#classes[code] = number
      else this.#others.set(code, number)
    }
  }
}

function isSmall(code: number): boolean {
  return code >= 97 && code <= 122
}
