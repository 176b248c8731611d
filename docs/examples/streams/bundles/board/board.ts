/** A note on the board. */
export interface Note {
  readonly id: number
  readonly text: string
}

/** The last hundred notes. */
export class Board {
  readonly #notes: Note[] = []
  readonly #listeners = new Set<(note: Note) => void>()
  #lastId = 0

  add(text: string): void {
    const note = { id: ++this.#lastId, text }
    this.#notes.push(note)
    if (this.#notes.length > 100) this.#notes.shift()
    for (const listener of this.#listeners) listener(note)
  }

  /** The notes after an id, the oldest first. */
  since(id: number): readonly Note[] {
    return this.#notes.filter(note => note.id > id)
  }

  /** Calls the listener for each new note, until the returned function is called. */
  subscribe(listener: (note: Note) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
