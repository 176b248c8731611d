import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { checkFolder, readRegularFile } from '../folders.ts'
import { SESSION_STORE_FAILED } from './errors.ts'
import {
  defaultSessionLimits,
  describeRecord,
  divideSessions,
  type KeptSession,
  parseRecord,
  type SessionChange,
  type SessionData,
  type SessionLimits,
  type SessionStore,
  SessionTasks,
  SweepSchedule,
  stringifyRecord,
} from './session-store.ts'

/** The folder of the sessions, and its limits. */
interface FileSessionStoreOptions {
  /** Created with the first session, with access for the owner only. */
  readonly directory: string
  /**
   * Called when a sweep in the background has failed, or has removed sessions early because of the
   * limits, and when a lock could not be removed.
   */
  readonly warn: (message: string, context: Readonly<Record<string, unknown>>) => void
  readonly limits?: SessionLimits
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/**
 * Stores each session in its own file, readable by the owner only. The name of a file is the hash
 * of the id: no id becomes a path, and a listing of the folder shows no id. Damaged files, other
 * files and symbolic links are no sessions. Expired sessions and sessions above the limits are
 * swept in the background of a write: the first, then every ten minutes, and earlier when the
 * limits may be exceeded. So the store may exceed its limits by a tenth for the time of a sweep.
 *
 * Changes of one session never overlap, also those of several processes with the same folder: a
 * file beside it is its lock.
 */
export class FileSessionStore implements SessionStore {
  readonly #directory: string
  readonly #now: () => number
  readonly #warn: FileSessionStoreOptions['warn']
  readonly #limits: SessionLimits
  readonly #schedule: SweepSchedule
  readonly #tasks = new SessionTasks()
  #sweeping: Promise<void> | undefined

  constructor(options: FileSessionStoreOptions) {
    this.#directory = options.directory
    this.#now = options.now ?? Date.now
    this.#warn = options.warn
    this.#limits = options.limits ?? defaultSessionLimits
    this.#schedule = new SweepSchedule(this.#limits)
  }

  read(id: string): Promise<SessionData | undefined> {
    return attempt('read a session', () => this.#readFile(fileOf(id)))
  }

  async insert(id: string, data: SessionData): Promise<void> {
    const record = stringifyRecord(data, this.#limits.sessionBytes)
    await attempt('write a session', () => this.#writeFile(fileOf(id), record))
    if (this.#schedule.claim(this.#now(), Buffer.byteLength(record))) this.#sweeping = this.#sweepInBackground()
  }

  update(id: string, change: SessionChange, newId: string): Promise<SessionData | undefined> {
    return this.#runLocked(id, async lock => {
      const stored = await this.read(id)
      const data = stored && change(stored)
      if (data === undefined || (data === stored && newId === id)) return data
      // This process was stopped, and another one may have changed the session since it was read.
      if (!(await attempt('lock a session', () => lock.isHeld()))) return 'again'
      await this.insert(newId, data)
      if (newId !== id) await attempt('destroy a session', () => this.#remove(fileOf(id)))
      return data
    })
  }

  destroy(id: string): Promise<void> {
    return this.#runLocked(id, () => attempt('destroy a session', () => this.#remove(fileOf(id))))
  }

  /** Writes a file into the folder, or where it is going to be created, and removes it. */
  check(): Promise<void> {
    return checkFolder(this.#directory)
  }

  /**
   * Deletes expired sessions, sessions above the limits and leftovers of failed writes at once. Returns their number.
   */
  async sweep(): Promise<number> {
    const { removed } = await attempt('sweep its directory', () => this.#sweepFiles())
    return removed
  }

  /** Waits for a sweep in the background. */
  async close(): Promise<void> {
    await this.#sweeping
  }

  /**
   * Runs a task while no other one of the session runs, in any process. Without a folder there are
   * no sessions, and no task.
   */
  #runLocked<result>(id: string, task: (lock: FileLock) => Promise<result | 'again'>): Promise<result | undefined> {
    const file = path.join(this.#directory, `${fileOf(id)}.lock`)
    return this.#tasks.run(id, async () => {
      for (;;) {
        const lock = await attempt('lock a session', () => acquireFileLock(file))
        if (lock === undefined) return undefined
        try {
          const result = await task(lock)
          if (result !== 'again') return result
        } finally {
          await this.#release(lock)
        }
      }
    })
  }

  /** A failure does not undo the task: its change is stored. */
  async #release(lock: FileLock): Promise<void> {
    try {
      await lock.release()
    } catch (error) {
      this.#warn('The lock of a session could not be removed.', { exception: error })
    }
  }

  async #sweepInBackground(): Promise<void> {
    try {
      const { kept } = await attempt('sweep its directory', () => this.#sweepFiles())
      this.#schedule.end(kept)
    } catch (error) {
      this.#schedule.end()
      this.#warn('Old sessions could not be removed.', { exception: error })
    }
  }

  async #readFile(file: string): Promise<SessionData | undefined> {
    const text = await this.#readText(file)
    return text === undefined ? undefined : parseRecord(text, this.#now())
  }

  async #readText(file: string): Promise<string | undefined> {
    return (await readRegularFile(path.join(this.#directory, file)))?.toString()
  }

  /** The complete file is renamed, so that no reader sees half a session. */
  async #writeFile(file: string, text: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const temporary = path.join(this.#directory, `${file}.${this.#now()}.${randomUUID()}.tmp`)
    try {
      const handle = await open(temporary, 'wx', 0o600)
      try {
        await handle.writeFile(text)
      } finally {
        await handle.close()
      }
      await rename(temporary, path.join(this.#directory, file))
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  async #sweepFiles(): Promise<{ removed: number; kept: readonly KeptSession[] }> {
    // What expires while the sweep runs is left to the next one.
    const now = this.#now()
    const files = (await ignoring(['ENOENT'], () => readdir(this.#directory))) ?? []
    const failures: unknown[] = []
    const sessions: KeptSession[] = []
    let removed = 0
    const attemptRemoval = async (file: string): Promise<void> => {
      try {
        await this.#remove(file)
        removed++
      } catch (error) {
        failures.push(error)
      }
    }
    // One after another, so that requests come first.
    for (const file of files) {
      const session = await this.#describeFile(file, now).catch(error => void failures.push(error))
      if (session === 'useless') await attemptRemoval(file)
      else if (session !== undefined) sessions.push(session)
    }
    const { kept, excess } = divideSessions(sessions, this.#limits)
    for (const { name } of excess) await attemptRemoval(name)
    if (excess.length > 0)
      this.#warn('There are too many sessions: {count} were removed early.', { count: excess.length })
    if (failures.length > 0) throw new AggregateError(failures, 'Some files could not be swept.')
    return { removed, kept }
  }

  /**
   * The session in a file; `useless` for a damaged, expired or unfinished one; undefined for a file of another kind.
   */
  async #describeFile(file: string, now: number): Promise<KeptSession | 'useless' | undefined> {
    if (sessionFile.test(file)) {
      const text = await this.#readText(file)
      return (text !== undefined && describeRecord(file, text, now)) || 'useless'
    }
    const begun = lockFile.test(file) ? await this.#findTime(file) : Number(temporaryFile.exec(file)?.[1])
    return begun < now - staleAfter ? 'useless' : undefined
  }

  /** When a file was created that is only written then. */
  async #findTime(file: string): Promise<number> {
    const found = await ignoring(['ENOENT'], () => stat(path.join(this.#directory, file)))
    return found?.mtimeMs ?? Number.NaN
  }

  #remove(file: string): Promise<void> {
    return rm(path.join(this.#directory, file), { force: true })
  }
}

/** `<hash of the id>.json`; during the write `<hash>.json.<time>.<random>.tmp`; its lock `<hash>.json.lock`. */
const sessionFile = /^[0-9a-f]{64}\.json$/
const temporaryFile = /^[0-9a-f]{64}\.json\.(\d+)\.[0-9a-f-]+\.tmp$/
const lockFile = /^[0-9a-f]{64}\.json\.lock$/

/** An hour, in milliseconds: no write takes as long. */
const staleAfter = 3_600_000

function fileOf(id: string): string {
  return `${createHash('sha256').update(id).digest('hex')}.json`
}

async function ignoring<result>(codes: readonly string[], task: () => Promise<result>): Promise<result | undefined> {
  try {
    return await task()
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

async function attempt<result>(name: string, task: () => Promise<result>): Promise<result> {
  try {
    return await task()
  } catch (cause) {
    throw new SESSION_STORE_FAILED([name], { cause })
  }
}

/**
 * Milliseconds. The work under a lock takes some of them, so another process that holds it for this time has crashed.
 */
const patience = 10_000

/**
 * Waits until the lock of this file is free, and takes it: no other process has it until its release. The lock is the
 * existence of the file. If its holder crashes, the next process that needs it waits for ten seconds and removes it.
 * Undefined if there is no such folder.
 */
export function acquireFileLock(file: string, wait: number = patience): Promise<FileLock | undefined> {
  return ignoring(['ENOENT'], () => acquire(file, wait))
}

async function acquire(file: string, wait: number): Promise<FileLock> {
  let waitedFor = ''
  let since = 0
  for (let attempt = 1; ; attempt++) {
    const handle = await ignoring(['EEXIST'], () => open(file, 'wx', 0o600))
    if (handle !== undefined) return new FileLock(file, handle)
    const holder = await identify(file)
    if (holder !== waitedFor) {
      waitedFor = holder
      since = performance.now()
    } else if (performance.now() - since >= wait) await rm(file, { force: true })
    await setTimeout(Math.random() * Math.min(50, attempt))
  }
}

/** An exclusive lock, between its acquisition and its release. */
class FileLock {
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
  const found = await ignoring(['ENOENT'], () => stat(file, { bigint: true }))
  return found === undefined ? '' : `${found.ino} ${found.mtimeNs}`
}
