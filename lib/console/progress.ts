import { displayWidth, fitWidth } from './text-width.ts'

/** Tells how far long work has come. */
export interface Progress {
  update(done: number, total: number): void
  /** Removes what was shown. */
  end(): void
}

const barWidth = 24

/** Draws a bar: `Reading records  ██████░░░░  60 %  600 of 1,000`. */
export function formatProgress(label: string, done: number, total: number, width: number): string {
  const share = total <= 0 ? 0 : Math.min(1, Math.max(0, done / total))
  const filled = Math.round(share * barWidth)
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
  const percent = `${Math.floor(share * 100)} %`.padStart(5)
  const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
  const line = `${label}  ${bar} ${percent}  ${counts}`
  return displayWidth(line) <= width ? line : fitWidth(`${label} ${percent.trim()}`, width)
}

/** Where there is no terminal nothing is shown. */
export const noProgress: Progress = { update: () => undefined, end: () => undefined }

/** What a bar is shown with. */
export interface ProgressOptions {
  readonly label: string
  readonly write: (text: string) => unknown
  readonly width: number
  /** Milliseconds. */
  readonly clock: () => number
}

/** Milliseconds: what is over sooner needs no bar, and nobody sees more pictures than this. */
const delay = 150
const interval = 50

/** Shows a bar on the line where the cursor is, anew when there is news. */
export function createProgress({ label, write, width, clock }: ProgressOptions): Progress {
  let next = clock() + delay
  let isShown = false
  return {
    update(done, total) {
      if (clock() < next) return
      next = clock() + interval
      isShown = true
      // The last column stays free: some terminals would begin a new line.
      write(`\r${formatProgress(label, done, total, width - 1)}\u001b[K`)
    },
    end() {
      if (isShown) write('\r\u001b[K')
      isShown = false
    },
  }
}
