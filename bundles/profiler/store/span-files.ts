import { constants } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { parseReceivedSpan, type ReceivedSpan } from '../profile/span-data.ts'
import { directoryMode, fileMode, nodeFileSystem, readBytes, readFile } from './file-system.ts'
import { foundLimit, type SpanStorage } from './span-storage.ts'

/** Bytes of the newer file after which it becomes the older one. */
const sizeLimit = 4 * 1024 * 1024

/**
 * Stores spans in two files: the newer one replaces the older one when it is full. All processes of an application use the
 * same files, and a restart keeps them.
 */
export class SpanFiles implements SpanStorage {
  readonly #directory: string
  readonly #onProblem: (message: string, error: unknown) => void
  readonly #sizeLimit: number
  #writing: Promise<boolean> = Promise.resolve(true)

  constructor(options: {
    readonly directory: string
    readonly onProblem: (message: string, error: unknown) => void
    /** Bytes of the newer file after which it becomes the older one; 4 MiB by default. */
    readonly sizeLimit?: number
  }) {
    this.#directory = options.directory
    this.#onProblem = options.onProblem
    this.#sizeLimit = options.sizeLimit ?? sizeLimit
  }

  append(spans: readonly ReceivedSpan[]): Promise<boolean> {
    this.#writing = this.#writing.then(() => this.#append(spans))
    return this.#writing
  }

  async find(traceId: string): Promise<ReceivedSpan[]> {
    const found = new Map<string, ReceivedSpan>()
    for (const name of [older, newer]) {
      for (const line of await this.#findLines(name, `${traceId} `)) {
        const span = parseLine(line)
        if (span !== undefined) found.set(span.spanId, span)
      }
    }
    return [...found.values()].slice(-foundLimit)
  }

  async purge(): Promise<void> {
    await Promise.all([newer, older].map(name => rm(this.#pathOf(name), { force: true }).catch(() => undefined)))
  }

  async #append(spans: readonly ReceivedSpan[]): Promise<boolean> {
    const lines = Buffer.from(spans.map(span => `${span.traceId} ${JSON.stringify(span)}\n`).join(''))
    try {
      await mkdir(this.#directory, { recursive: true, mode: directoryMode })
      const file = await open(this.#pathOf(newer), appendFlags, fileMode)
      try {
        await file.appendFile(lines)
        const { size } = await file.stat()
        // Another process may do the same at this moment. Then the older file is replaced twice, and some spans are lost.
        if (size >= this.#sizeLimit) await rename(this.#pathOf(newer), this.#pathOf(older))
      } finally {
        await file.close()
      }
      return true
    } catch (error) {
      this.#onProblem('Spans of other services cannot be stored.', error)
      return false
    }
  }

  /** The lines of a file that begin with a text. */
  async #findLines(name: string, beginning: string): Promise<string[]> {
    const read = readFile(nodeFileSystem, this.#pathOf(name), (file, { size }) => readBytes(file, 0, size))
    const content = (await read) ?? Buffer.alloc(0)
    const lines: string[] = []
    let at = content.indexOf(beginning)
    while (at !== -1) {
      const end = content.indexOf('\n', at)
      // The last line may be incomplete: another process is writing it.
      if (end === -1) break
      if (at === 0 || content[at - 1] === lineFeed) lines.push(content.toString('utf8', at, end))
      at = content.indexOf(beginning, end)
    }
    return lines
  }

  #pathOf(name: string): string {
    return path.join(this.#directory, name)
  }
}

const newer = 'spans.jsonl'
const older = 'spans-older.jsonl'
const lineFeed = 0x0a

/** A link is not followed. */
const appendFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

function parseLine(line: string): ReceivedSpan | undefined {
  try {
    return parseReceivedSpan(JSON.parse(line.slice(line.indexOf(' '))))
  } catch {
    return undefined
  }
}
