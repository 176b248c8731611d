import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { createFile, writeAll } from './create-file.ts'
import type { FileSystem } from './file-system.ts'
import { ignoring } from './ignoring.ts'
import { type IndexEntry, type RecordFile, type RecordText, Version } from './index-entry.ts'
import { formatIndexLine, type IndexLine, parseIndexLine } from './index-line.ts'
import { lineLimits } from './line-limits.ts'
import { readFile } from './read-file.ts'
import { readLines } from './read-lines.ts'
import { wrapFacts } from './read-record.ts'

/** A copy of a profile that outlives its segment: a file with its facts, itself and its line of an index. */
export interface Pin extends RecordFile {
  readonly writer: string
  readonly line: IndexLine
  readonly bytes: number
}

/** What has changed among the pins. */
export interface PinChanges {
  readonly added: readonly Pin[]
  readonly removed: readonly Pin[]
}

/** The pinned profiles, each in a file that is named by its token, who wrote it, and something unique. */
export class PinFolder {
  readonly #directory: string
  readonly #fileSystem: FileSystem
  readonly #pins = new Map<string, Pin>()

  constructor(directory: string, fileSystem: FileSystem) {
    this.#directory = directory
    this.#fileSystem = fileSystem
  }

  get pins(): readonly Pin[] {
    return [...this.#pins.values()]
  }

  /** The copy of a profile, the last one that was made. */
  find({ token, writer }: Pick<IndexEntry, 'token' | 'writer'>): Pin | undefined {
    return this.pins.findLast(pin => pin.line.summary.token === token && pin.writer === writer)
  }

  /** Copies a profile; rejects when that cannot be written. An earlier copy is removed. */
  async add(entry: IndexEntry, text: RecordText): Promise<void> {
    const { keptAt, summary, token, writer } = entry
    const earlier = this.pins.filter(pin => pin.line.summary.token === token && pin.writer === writer)
    const facts = Buffer.from(`${wrapFacts(text.facts)}\n`)
    const record = Buffer.from(`${text.record}\n`)
    const line = {
      keptAt,
      facts: { offset: 0, length: facts.length - 1 },
      record: { offset: facts.length, length: record.length - 1 },
      summary,
    }
    const bytes = Buffer.concat([facts, record, Buffer.from(formatIndexLine(line))])
    const name = `${token}-${writer}-${randomBytes(4).toString('hex')}${ending}`
    const file = path.join(this.#directory, name)
    await this.#write(file, bytes)
    this.#pins.set(name, { path: file, newest: keptAt, writer, line, bytes: bytes.length })
    for (const pin of earlier) await this.remove(pin)
  }

  /** Removes a copy; rejects when that is not possible. */
  async remove(pin: Pin): Promise<void> {
    await ignoring(['ENOENT'], () => this.#fileSystem.unlink(pin.path))
    this.#pins.delete(path.basename(pin.path))
  }

  /** Finds out what other processes have pinned and unpinned; nothing when the directory cannot be read. */
  async refresh(): Promise<PinChanges> {
    const known = [...this.#pins]
    const files = await this.#list()
    if (files === undefined) return { added: [], removed: [] }
    const removed = known.filter(([file]) => !files.has(file))
    for (const [file] of removed) this.#pins.delete(file)
    const added: Pin[] = []
    for (const file of files) {
      const pin = this.#pins.has(file) ? undefined : await this.#read(file)
      if (pin === undefined) continue
      this.#pins.set(file, pin)
      added.push(pin)
    }
    return { added, removed: removed.map(([, pin]) => pin) }
  }

  /** Removes copies that were never completed, a minute after they were begun; rejects when that is not possible. */
  async sweep(now: number): Promise<void> {
    const files = await ignoring(['ENOENT'], () => this.#fileSystem.readdir(this.#directory))
    for (const file of files?.filter(file => temporaryFile.test(file)) ?? []) {
      const temporary = path.join(this.#directory, file)
      const { mtimeMs } = await this.#fileSystem.lstat(temporary)
      if (now - mtimeMs > staleAfter) await this.#fileSystem.unlink(temporary)
    }
  }

  async #list(): Promise<ReadonlySet<string> | undefined> {
    try {
      return new Set(await ignoring(['ENOENT'], () => this.#fileSystem.readdir(this.#directory)))
    } catch {
      return undefined
    }
  }

  async #read(file: string): Promise<Pin | undefined> {
    const [, token, writer] = pinFile.exec(file) ?? []
    if (writer === undefined) return undefined
    const pin = path.join(this.#directory, file)
    let last = ''
    const onLine = (text: string) => {
      last = text
    }
    const bytes = await readFile(this.#fileSystem, pin, async (opened, { size }) => {
      if (size < sizeLimit) await readLines(opened, { from: 0, until: size, longest: lineLimits.record, onLine })
      return size
    })
    const line = parseIndexLine(last)
    if (line === undefined || line.summary.token !== token || bytes === undefined) return undefined
    return { path: pin, newest: line.keptAt, writer, line, bytes }
  }

  /** Renamed when complete: nobody ever reads half a copy. */
  async #write(file: string, bytes: Buffer): Promise<void> {
    const temporary = `${file}.tmp`
    const opened = await createFile(this.#fileSystem, this.#directory, temporary)
    try {
      await writeAll(opened, bytes).finally(() => opened.close())
      await this.#fileSystem.rename(temporary, file)
    } catch (error) {
      await this.#fileSystem.unlink(temporary).catch(() => undefined)
      throw error
    }
  }
}

/** The version of a profile that was pinned. */
export function toVersion(pin: Pin): Version {
  const { facts, record, summary } = pin.line
  return new Version(summary, undefined, { offset: record.offset, length: record.length, file: pin, facts })
}

const ending = '.json'
/** Milliseconds: long after any copy was completed. */
const staleAfter = 60_000
const pinFile = /^([0-9a-f]{6})-([1-9]\d{0,8}-[0-9a-f]{8})-[0-9a-f]{8}\.json$/
const temporaryFile = /^[0-9a-f]{6}-[1-9]\d{0,8}-[0-9a-f]{8}-[0-9a-f]{8}\.json\.tmp$/
/** Bytes: facts, a profile and a line of an index. */
const sizeLimit = 2 * lineLimits.record + lineLimits.index
