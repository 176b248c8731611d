import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { directoryMode, fileMode } from '../store/create-file.ts'
import { nodeFileSystem } from '../store/file-system.ts'
import { type Arming, parseArming } from './arming.ts'

/**
 * The file by which all processes of a project (workers, the console) know which request is waited for. Nobody looks at
 * it for a request: the directory it lies in is watched, in which nothing else changes.
 */
export class ArmFile {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** What is waited for; `undefined` when that is nothing. */
  read(): Arming | undefined {
    try {
      return parseArming(readFileSync(this.#file, 'utf8'))
    } catch {
      return undefined
    }
  }

  /** Puts it in the place of what was waited for before. @throws when the disk does not allow it */
  write(arming: Arming): void {
    const draft = `${this.#file}.${randomUUID()}`
    mkdirSync(path.dirname(this.#file), { recursive: true, mode: directoryMode })
    writeFileSync(draft, JSON.stringify(arming), { flag: 'wx', mode: fileMode })
    // Whoever reads sees all of it.
    renameSync(draft, this.#file)
  }

  /** Takes it away; false when somebody else has done so: of several processes only one gets the request. */
  remove(): boolean {
    try {
      unlinkSync(this.#file)
      return true
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }

  /** Tells when it may have changed, until the returned function is called. @throws when the disk does not allow it */
  watch(onChange: () => void): () => void {
    const directory = path.dirname(this.#file)
    mkdirSync(directory, { recursive: true, mode: directoryMode })
    return nodeFileSystem.watch(directory, file => {
      if (file === path.basename(this.#file)) onChange()
    })
  }
}
