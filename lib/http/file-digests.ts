import { createHash } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { pipeline } from 'node:stream/promises'

interface Known {
  readonly size: number
  readonly modified: number
  readonly digest: Promise<string>
}

/** The SHA-256 of files, as hex digits. Each is read once, and again when its size or its time has changed. */
export class FileDigests {
  readonly #known = new Map<string, Known>()

  /** @throws when the file cannot be read */
  find(file: string, { mtimeMs: modified, size }: Stats): Promise<string> {
    const known = this.#known.get(file)
    if (known?.size === size && known.modified === modified) return known.digest
    const digest = digestFile(file)
    this.#known.set(file, { size, modified, digest })
    // Whoever waits for it learns of the failure; the next one tries again.
    digest.catch(() => this.#known.delete(file))
    return digest
  }
}

async function digestFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
