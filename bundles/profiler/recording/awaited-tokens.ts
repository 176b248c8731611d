/** Tokens that responses name already, while their profiles are still being made. */
export class AwaitedTokens {
  readonly #waiting = new Map<string, (() => void)[]>()

  /** A profile of this token will be kept, or not. */
  add(token: string): void {
    this.#waiting.set(token, [])
  }

  has(token: string): boolean {
    return this.#waiting.has(token)
  }

  /** It was decided. */
  settle(token: string): void {
    const waiting = this.#waiting.get(token) ?? []
    this.#waiting.delete(token)
    for (const tell of waiting) tell()
  }

  /** Resolves when it is decided: at once when nothing is awaited, and after so many milliseconds in any case. */
  wait(token: string, limit: number): Promise<void> {
    return new Promise(resolve => {
      const waiting = this.#waiting.get(token)
      if (waiting === undefined) return resolve()
      const timer = setTimeout(resolve, limit)
      waiting.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
