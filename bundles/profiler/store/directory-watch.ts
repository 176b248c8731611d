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

/** Milliseconds between two looks without a reason: some disks tell of nothing, nor does a directory that is still to come. */
const interval = 1000

/** Tells when files of a directory may have changed, while somebody wants to know. It keeps no process running. */
export class DirectoryWatch {
  readonly #options: DirectoryWatchOptions
  #stop: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #interval: NodeJS.Timeout | undefined

  constructor(options: DirectoryWatchOptions) {
    this.#options = options
  }

  /** Begins to watch, anew where it did already. */
  start(): void {
    this.stop()
    this.#watch()
    this.#interval = setInterval(() => {
      if (this.#stop === undefined) this.#watch()
      this.#options.onNews()
    }, interval)
    this.#interval.unref()
  }

  #watch(): void {
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
    clearInterval(this.#interval)
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
