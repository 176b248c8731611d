import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'

/** Milliseconds. The work under a lock takes some of them, so another process that holds it for this time has crashed. */
const patience = 10_000

/**
 * Waits until the lock of this file is free, and takes it: no other process has it until its release. The lock is the
 * existence of the file. If its holder crashes, the next process that needs it waits for ten seconds and removes it.
 * Undefined if there is no such folder.
 */
export async function acquireFileLock(file: string, wait: number = patience): Promise<FileLock | undefined> {
  let waitedFor = ''
  let since = 0
  for (let attempt = 1; ; attempt++) {
    const handle = await tryUnless(['EEXIST', 'ENOENT'], () => open(file, 'wx', 0o600))
    if (typeof handle === 'object') return new FileLock(file, handle)
    if (handle === 'ENOENT') return undefined
    const holder = await identify(file)
    if (holder !== waitedFor) {
      waitedFor = holder
      since = performance.now()
    } else if (performance.now() - since >= wait) await rm(file, { force: true })
    await setTimeout(Math.random() * Math.min(50, attempt))
  }
}

/** An exclusive lock, between its acquisition and its release. */
export class FileLock {
  readonly #file: string
  /** Open until the release, so that no other file gets the same inode. */
  readonly #handle: FileHandle

  constructor(file: string, handle: FileHandle) {
    this.#file = file
    this.#handle = handle
  }

  /** Whether no other process has taken the lock away. */
  async isHeld(): Promise<boolean> {
    const { ino } = await this.#handle.stat({ bigint: true })
    return (await identify(this.#file)).startsWith(`${ino} `)
  }

  async release(): Promise<void> {
    try {
      if (await this.isHeld()) await rm(this.#file, { force: true })
    } finally {
      await this.#handle.close()
    }
  }
}

/** The inode of a file and the time of its creation; empty if there is none. */
async function identify(file: string): Promise<string> {
  const found = await tryUnless(['ENOENT'], () => stat(file, { bigint: true }))
  return typeof found === 'object' ? `${found.ino} ${found.mtimeNs}` : ''
}

/** The result, or the code of an error that is expected. */
async function tryUnless<result, const code extends string>(
  codes: readonly code[],
  task: () => Promise<result>,
): Promise<result | code> {
  try {
    return await task()
  } catch (error) {
    const code = codes.find(code => code === (error as NodeJS.ErrnoException).code)
    if (code === undefined) throw error
    return code
  }
}
