import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'

/** The temporary files of one request: in a directory of their own, which exists once the first is wanted. */
export class TemporaryFiles {
  readonly #parent: string
  #directory: Promise<string> | undefined

  constructor(parent: string) {
    this.#parent = parent
  }

  /** A new, unguessable path. mkdtemp makes the directory with mode 0700, so nobody else can plant a file there. */
  async createPath(): Promise<string> {
    this.#directory ??= mkdtemp(path.join(this.#parent, 'sinfonietta-'))
    return path.join(await this.#directory, randomUUID())
  }

  /** Removes the directory with all that is in it; never rejects. */
  async remove(): Promise<void> {
    try {
      if (this.#directory !== undefined) await rm(await this.#directory, { recursive: true, force: true })
    } catch {
      // It was never made, or it cannot be removed: nobody could do better.
    }
  }
}
