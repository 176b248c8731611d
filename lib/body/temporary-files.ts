import { randomUUID } from 'node:crypto'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import path from 'node:path'

const prefix = 'sinfonietta-upload-'

/** The names that mkdtemp creates. */
const ownName = new RegExp(`^${prefix}[A-Za-z0-9]{6}$`)

/** An hour, in milliseconds: no upload takes as long. */
const staleAfter = 3_600_000

/** The temporary files of one request, in their own directory, which is created with the first file. */
export class TemporaryFiles {
  readonly #parent: string
  #directory: Promise<string> | undefined

  constructor(parent: string) {
    this.#parent = parent
  }

  /** A new, unguessable path. mkdtemp creates the directory with mode 0700, so no other user can create a file in it. */
  async createPath(): Promise<string> {
    this.#directory ??= mkdtemp(path.join(this.#parent, prefix))
    return path.join(await this.#directory, randomUUID())
  }

  /** Removes the directory and its files. Never rejects. */
  async remove(): Promise<void> {
    try {
      if (this.#directory !== undefined) await rm(await this.#directory, { recursive: true, force: true })
    } catch {
      // It was not created, or it cannot be removed.
    }
  }
}

/**
 * Removes the directories that killed processes have left: those of the same user that have not changed for an hour. Other
 * things with such a name, such as links, stay. Never rejects.
 */
export async function sweepTemporaryFiles(parent: string, now: number = Date.now()): Promise<void> {
  const names = await readdir(parent).catch(() => [])
  // A directory that another process removes at the same time, or that cannot be removed, does not stop the others.
  await Promise.allSettled(
    names.filter(name => ownName.test(name)).map(name => removeStale(path.join(parent, name), now)),
  )
}

async function removeStale(directory: string, now: number): Promise<void> {
  const status = await lstat(directory)
  const isOwn = status.isDirectory() && status.uid === process.getuid?.()
  // Links inside are removed, not followed.
  if (isOwn && status.mtimeMs < now - staleAfter) await rm(directory, { recursive: true, force: true })
}
