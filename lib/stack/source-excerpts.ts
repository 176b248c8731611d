import { readFileSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { packageDirectory } from '../package.ts'
import { cut } from '../redact/masking-copier.ts'
import type { Redactor } from '../redact/redactor.ts'

/** The lines around a line of a source. */
interface SourceExcerpt {
  /** The number of the first line, from 1. */
  readonly start: number
  /** At most eleven, of at most 500 characters, masked. */
  readonly lines: readonly string[]
}

const linesAround = 5
const lengthLimit = 500
/**
 * Characters of a line that are read. Lines are masked before they are cut, because half a secret is not recognised.
 */
const readLimit = 5000
const byteLimit = 2 * 1024 * 1024
const countLimit = 200

/**
 * Reads excerpts of the sources of the application and of the package: regular files below their directories, links
 * resolved, but not in `node_modules`, `var`, or a folder or file that begins with a dot. An excerpt is read once,
 * because the process runs the code from its start, and not the later content of the file. At most 200 are cached.
 */
export class SourceExcerpts {
  readonly #directories: readonly string[]
  readonly #redactor: Redactor
  readonly #known = new Map<string, SourceExcerpt | undefined>()

  constructor(directory: string, redactor: Redactor, ownDirectory: string = packageDirectory) {
    this.#directories = [directory, ownDirectory]
    this.#redactor = redactor
  }

  /**
   * The lines around a line (from 1) of a file with an absolute path; `undefined` if they may not or cannot be read.
   */
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
      const roots = this.#directories.map(each => realpathSync(each) + path.sep)
      // The longer one first: mostly the package is below the application, in node_modules.
      const root = roots.sort((one, other) => other.length - one.length).find(each => realPath.startsWith(each))
      if (root === undefined || !isSource(realPath.slice(root.length))) return undefined
      const stats = statSync(realPath)
      // A read of a pipe may wait for ever.
      if (!stats.isFile() || stats.size > byteLimit) return undefined
      return this.#excerpt(readFileSync(realPath, 'utf8').split(/\r?\n/), line)
    } catch {
      // The file was deleted, is no regular file, or may not be read.
      return undefined
    }
  }

  #excerpt(lines: readonly string[], line: number): SourceExcerpt | undefined {
    if (line < 1 || line > lines.length) return undefined
    const start = Math.max(1, line - linesAround)
    const shown = lines.slice(start - 1, line + linesAround).map(text => text.slice(0, readLimit))
    const masked = this.#redactor.source(shown.join('\n')).split('\n')
    // A masked secret had several lines, so the numbers of the lines are no longer known.
    return masked.length === shown.length ? { start, lines: masked.map(text => cut(text, lengthLimit)) } : undefined
  }
}

/** Whether a path, relative to the root, belongs to a source. */
function isSource(relative: string): boolean {
  const names = relative.split(path.sep)
  return names[0] !== 'var' && !names.some(name => name.startsWith('.') || name === 'node_modules')
}
