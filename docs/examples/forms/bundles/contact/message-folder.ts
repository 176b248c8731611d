import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Message } from './message.ts'

/** Keeps messages as files. */
export class MessageFolder {
  readonly directory: string

  constructor(directory: string) {
    this.directory = directory
  }

  async keep({ name, picture, text }: Message): Promise<void> {
    await mkdir(this.directory, { recursive: true })
    // A generated name: the name that a client sends is not a path.
    const id = randomUUID()
    await writeFile(path.join(this.directory, `${id}.txt`), `${name}\n\n${text}\n`)
    await picture?.saveAs(path.join(this.directory, `${id}.picture`))
  }
}
