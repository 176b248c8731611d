/** Joins bytes that come in pieces. Many tiny pieces cost no more memory than a few large ones. */
export class ByteCollector {
  #bytes: Buffer = empty
  #length = 0

  /** How many bytes are collected. */
  get length(): number {
    return this.#length
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length))
      larger.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = larger
    }
    this.#bytes.set(piece, this.#length)
    this.#length = length
  }

  /** Gives away what was collected and starts anew. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#bytes = empty
    this.#length = 0
    return taken
  }
}

const empty = Buffer.alloc(0)
