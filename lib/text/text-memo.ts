/**
 * Caches a result per text. Texts longer than `longest` characters are not cached. With one entry more than `limit` the
 * cache starts again from empty: texts that matter come again soon.
 */
export class TextMemo<value> {
  readonly #limit: number
  readonly #longest: number
  readonly #values = new Map<string, value>()

  constructor(limit: number, longest: number) {
    this.#limit = limit
    this.#longest = longest
  }

  get(text: string): value | undefined {
    return text.length > this.#longest ? undefined : this.#values.get(text)
  }

  /** The result of a text, which is made if it is not known. */
  of(text: string, create: (text: string) => value): value {
    const known = this.get(text)
    if (known !== undefined) return known
    const value = create(text)
    this.set(text, value)
    return value
  }

  set(text: string, value: value): void {
    if (text.length > this.#longest) return
    if (this.#values.size === this.#limit) this.#values.clear()
    this.#values.set(copyText(text), value)
  }
}

/** V8 keeps a whole text in memory for a part of it, but not for a copy. UTF-16 keeps lone surrogates as they are. */
export function copyText(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}
