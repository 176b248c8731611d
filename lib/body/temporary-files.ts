import { randomUUID } from 'node:crypto'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import path from 'node:path'

const prefix = 'sinfonietta-upload-'

/** As mkdtemp makes them. */
const ownName = new RegExp(`^${prefix}[A-Za-z0-9]{6}$`)

/** An hour, in milliseconds: no request takes as long as that to send its files. */
const staleAfter = 3_600_000

/** The temporary files of one request: in a directory of their own, which exists once the first is wanted. */
export class TemporaryFiles {
  readonly #parent: string
  #directory: Promise<string> | undefined

  constructor(parent: string) {
    this.#parent = parent
  }

  /** A new, unguessable path. mkdtemp makes the directory with mode 0700, so nobody else can plant a file there. */
  async createPath(): Promise<string> {
    this.#directory ??= mkdtemp(path.join(this.#parent, prefix))
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

/**
 * Removes what processes that were killed have left behind: directories of the same user that nobody has touched for an
 * hour. What is found in place of one, such as a link, stays. Never rejects.
 */
export async function sweepTemporaryFiles(parent: string, now: number = Date.now()): Promise<void> {
  const names = await readdir(parent).catch(() => [])
  // What another process sweeps just now, or what cannot be removed, keeps nothing else.
  await Promise.allSettled(
    names.filter(name => ownName.test(name)).map(name => removeLeft(path.join(parent, name), now)),
  )
}

async function removeLeft(directory: string, now: number): Promise<void> {
  const status = await lstat(directory)
  const isOwn = status.isDirectory() && status.uid === process.getuid?.()
  // Links inside are removed, not followed.
  if (isOwn && status.mtimeMs < now - staleAfter) await rm(directory, { recursive: true, force: true })
}
