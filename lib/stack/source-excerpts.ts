import { readFileSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { cut } from '../redact/masking-copier.ts'
import type { Redactor } from '../redact/redactor.ts'

/** Lines of a source, around one of them. */
export interface SourceExcerpt {
  /** The number of the first line, from 1. */
  readonly start: number
  /** At most eleven, of at most 500 characters, masked. */
  readonly lines: readonly string[]
}

const linesAround = 5
const lengthLimit = 500
/** A secret that a cut goes through would not be recognised, so lines are masked first, within this bound. */
const readLimit = 5000
const byteLimit = 2 * 1024 * 1024
const countLimit = 200

/**
 * Reads excerpts of a project's own sources: of regular files that really lie below its root, and there neither in
 * `node_modules`, nor in `var`, nor in anything whose name begins with a dot. An excerpt is read once: the code that runs
 * was read when the process began, and what has become of its file since is not what failed. At most 200 are kept.
 */
export class SourceExcerpts {
  readonly #directory: string
  readonly #redactor: Redactor
  readonly #known = new Map<string, SourceExcerpt | undefined>()

  constructor(directory: string, redactor: Redactor) {
    this.#directory = directory
    this.#redactor = redactor
  }

  /** The lines around one (from 1) of a file, named by its whole path; `undefined` when they may or can not be read. */
  find(file: string, line: number): SourceExcerpt | undefined {
    const key = `${line}:${file}`
    if (!this.#known.has(key)) {
      if (this.#known.size === countLimit) this.#known.clear()
      this.#known.set(key, this.#read(file, line))
    }
    return this.#known.get(key)
  }

  #read(file: string, line: number): SourceExcerpt | undefined {
    try {
      const realPath = realpathSync(file)
      const root = realpathSync(this.#directory) + path.sep
      if (!realPath.startsWith(root) || !isSource(realPath.slice(root.length))) return undefined
      const stats = statSync(realPath)
      // Whoever reads a pipe may wait for ever.
      if (!stats.isFile() || stats.size > byteLimit) return undefined
      return this.#excerpt(readFileSync(realPath, 'utf8').split(/\r?\n/), line)
    } catch {
      // It was deleted, is no file at all, or is none of ours to read.
      return undefined
    }
  }

  #excerpt(lines: readonly string[], line: number): SourceExcerpt | undefined {
    if (line < 1 || line > lines.length) return undefined
    const start = Math.max(1, line - linesAround)
    const shown = lines.slice(start - 1, line + linesAround).map(text => text.slice(0, readLimit))
    const masked = this.#redactor.source(shown.join('\n')).split('\n')
    // A secret of several lines was masked: which line is which can no longer be told.
    return masked.length === shown.length ? { start, lines: masked.map(text => cut(text, lengthLimit)) } : undefined
  }
}

/** Whether a path, relative to the root, is that of a source. */
function isSource(relative: string): boolean {
  const names = relative.split(path.sep)
  return names[0] !== 'var' && !names.some(name => name.startsWith('.') || name === 'node_modules')
}
