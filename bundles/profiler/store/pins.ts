import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { createFile, type FileSystem, listDirectory, readFile, readLines, removeFile, writeAll } from './file-system.ts'
import { IndexEntry } from './profile-index.ts'
import { encodeGroup, lineLimits, parseIndexLine, type StoredTexts, type StoredVersion } from './segment.ts'

/**
 * A copy of a profile, in a file of its own: a line of facts, the profile, and its line of an index. A copy without
 * that last line is not complete, and is ignored.
 */
export interface Pin {
  readonly path: string
  readonly writer: string
  /** When the profile was appended. */
  readonly newest: number
  readonly version: StoredVersion
  readonly bytes: number
}

/** The pinned profiles: copies in a directory that retention and purges leave alone. */
export class Pins {
  readonly #directory: string
  readonly #fileSystem: FileSystem
  readonly #pins = new Map<string, Pin>()

  constructor(directory: string, fileSystem: FileSystem) {
    this.#directory = directory
    this.#fileSystem = fileSystem
  }

  get all(): readonly Pin[] {
    return [...this.#pins.values()]
  }

  /** The newest copy of a profile. */
  find(entry: IndexEntry): Pin | undefined {
    return this.#pins.size === 0 ? undefined : this.all.findLast(pin => isCopy(pin, entry))
  }

  /** Copies a profile; rejects when the copy cannot be written. Earlier copies are removed. */
  async add(entry: IndexEntry, { facts, text }: StoredTexts): Promise<void> {
    const { summary, time, token, writer } = entry
    const earlier = this.all.filter(pin => isCopy(pin, entry))
    const name = `${token}-${writer}-${randomBytes(4).toString('hex')}.json`
    const file = path.join(this.#directory, name)
    const { data, index, places } = encodeGroup(
      { path: file, writer },
      [{ entry, version: { summary, text, facts } }],
      0,
    )
    const bytes = Buffer.concat([data, index])
    const opened = await createFile(this.#fileSystem, this.#directory, file)
    try {
      await writeAll(opened, bytes).finally(() => opened.close())
    } catch (error) {
      await this.#fileSystem.unlink(file).catch(() => undefined)
      throw error
    }
    for (const place of places) {
      this.#pins.set(name, { path: file, writer, newest: time, version: { summary, place }, bytes: bytes.length })
    }
    for (const pin of earlier) await this.remove(pin)
  }

  /** Removes a copy; rejects when the disk does not allow that. */
  async remove(pin: Pin): Promise<void> {
    await removeFile(this.#fileSystem, pin.path)
    this.#pins.delete(path.basename(pin.path))
  }

  /** Finds pins that other processes have added and removed; none when the directory cannot be read. */
  async refresh(): Promise<{ readonly added: readonly IndexEntry[]; readonly removed: readonly Pin[] }> {
    const known = [...this.#pins]
    const files = await listDirectory(this.#fileSystem, this.#directory)
    const removed = files === undefined ? [] : known.filter(([file]) => !files.includes(file))
    for (const [file] of removed) this.#pins.delete(file)
    const added: IndexEntry[] = []
    for (const file of files ?? []) {
      const pin = this.#pins.has(file) ? undefined : await this.#read(file)
      if (pin === undefined) continue
      this.#pins.set(file, pin)
      added.push(new IndexEntry(pin.writer, pin.newest, pin.version))
    }
    return { added, removed: removed.map(([, pin]) => pin) }
  }

  async #read(name: string): Promise<Pin | undefined> {
    const [, token, writer] = pinFile.exec(name) ?? []
    if (writer === undefined) return undefined
    const file = path.join(this.#directory, name)
    let last = ''
    const onLine = (text: string) => {
      last = text
    }
    const bytes = await readFile(this.#fileSystem, file, async (opened, { size }) => {
      if (size < sizeLimit) await readLines(opened, { from: 0, until: size, longest: lineLimits.profile, onLine })
      return size
    })
    const line = parseIndexLine(last)
    if (line === undefined || line.summary.token !== token || bytes === undefined) return undefined
    const { facts, profile, summary, time } = line
    return { path: file, writer, newest: time, version: { summary, place: { file, profile, facts } }, bytes }
  }
}

function isCopy({ version, writer }: Pin, entry: IndexEntry): boolean {
  return version.summary.token === entry.token && writer === entry.writer
}

const pinFile = /^([0-9a-f]{6})-([1-9]\d{0,8}-[0-9a-f]{8})-[0-9a-f]{8}\.json$/
/** Bytes: facts, a profile and a line of an index. */
const sizeLimit = 2 * lineLimits.profile + lineLimits.index
