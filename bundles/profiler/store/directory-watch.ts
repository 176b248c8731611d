import type { FileSystem } from './file-system.ts'

/** What is watched. */
export interface DirectoryWatchOptions {
  readonly directory: string
  readonly fileSystem: FileSystem
  /** Whether a change of this file is news. */
  readonly isNews: (file: string) => boolean
  readonly onNews: () => void
}

/** Milliseconds: a process that writes much is not looked at more often. */
const delay = 25

/** Tells when files of a directory have changed, while somebody wants to know. It keeps no process running. */
export class DirectoryWatch {
  readonly #options: DirectoryWatchOptions
  #stop: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: DirectoryWatchOptions) {
    this.#options = options
  }

  /** Begins to watch, anew where it did already; nothing happens when that is not possible, as with no directory. */
  start(): void {
    this.stop()
    const { directory, fileSystem } = this.#options
    try {
      this.#stop = fileSystem.watch(directory, file => this.#onChange(file))
    } catch {
      this.#stop = undefined
    }
  }

  /** Ends watching. */
  stop(): void {
    this.#stop?.()
    this.#stop = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #onChange(file: string): void {
    const { isNews, onNews } = this.#options
    if (this.#timer !== undefined || !isNews(file)) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      onNews()
    }, delay)
    this.#timer.unref()
  }
}
