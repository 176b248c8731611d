const entryLimit = 1000
const longest = 256

/**
 * Remembers what was found out about short texts (at most 256 characters), 1,000 at a time. It holds copies: a text that
 * was cut out of a large one would keep all of that in memory.
 */
export class TextMemo<value> {
  #values = new Map<string, value>()

  get(text: string): value | undefined {
    return this.#values.get(text)
  }

  /** Begins anew when it is full: names and values that matter come again soon. */
  set(text: string, value: value): void {
    if (text.length > longest) return
    if (this.#values.size === entryLimit) this.#values = new Map()
    // UTF-16 keeps lone surrogates as they are.
    this.#values.set(Buffer.from(text, 'utf16le').toString('utf16le'), value)
  }
}
