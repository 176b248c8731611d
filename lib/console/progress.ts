import { displayWidth, fitWidth } from './text-width.ts'

/** The progress of long work. */
export interface Progress {
  update(done: number, total: number): void
  /** Removes the bar. */
  end(): void
}

const barWidth = 24

/** Formats a bar: `Reading profiles  ██████░░░░  60 %  600 of 1,000`. */
export function formatProgress(label: string, done: number, total: number, width: number): string {
  const share = total <= 0 ? 0 : Math.min(1, Math.max(0, done / total))
  const filled = Math.round(share * barWidth)
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
  const percent = `${Math.floor(share * 100)} %`.padStart(5)
  const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
  const line = `${label}  ${bar} ${percent}  ${counts}`
  return displayWidth(line) <= width ? line : fitWidth(`${label} ${percent.trim()}`, width)
}

/** Shows nothing: for an output that is not a terminal. */
export const noProgress: Progress = { update: () => undefined, end: () => undefined }

/** The label, width and output of a bar. */
export interface ProgressOptions {
  readonly label: string
  readonly write: (text: string) => unknown
  readonly width: number
  /** Milliseconds. */
  readonly clock: () => number
}

/** Milliseconds before the first bar, because short work needs none, and between two updates. */
const delay = 150
const interval = 50

/** Shows a bar on the line of the cursor and updates it. */
export function createProgress({ label, write, width, clock }: ProgressOptions): Progress {
  let next = clock() + delay
  let isShown = false
  return {
    update(done, total) {
      if (clock() < next) return
      next = clock() + interval
      isShown = true
      // The last column stays free: a character there makes some terminals begin a new line.
      write(`\r${formatProgress(label, done, total, width - 1)}\u001b[K`)
    },
    end() {
      if (isShown) write('\r\u001b[K')
      isShown = false
    },
  }
}
