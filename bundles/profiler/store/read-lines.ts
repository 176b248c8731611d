import type { OpenFile } from './file-system.ts'
import type { Span } from './index-entry.ts'

/** Which lines of a file are read. */
export interface LineRange {
  readonly from: number
  readonly until: number
  /** Bytes; longer lines are passed over without being held in memory. */
  readonly longest: number
  readonly onLine: (text: string, span: Span) => void
}

/** Reads the lines of a file that are complete, piece by piece; gives where the first incomplete one begins. */
export async function readLines(
  file: Pick<OpenFile, 'read'>,
  { from, until, longest, onLine }: LineRange,
): Promise<number> {
  const piece = Buffer.allocUnsafe(Math.min(pieceSize, until - from))
  let beginning: Buffer[] = []
  let lineStart = from
  let position = from
  while (position < until) {
    const { bytesRead } = await file.read(piece, 0, Math.min(piece.length, until - position), position)
    if (bytesRead === 0) break
    const bytes = piece.subarray(0, bytesRead)
    let next = 0
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, next)) {
      const length = position + end - lineStart
      if (length > 0 && length <= longest) {
        onLine(toText(beginning, bytes.subarray(next, end)), { offset: lineStart, length })
      }
      beginning = []
      next = end + 1
      lineStart = position + next
    }
    position += bytesRead
    if (position - lineStart > longest) beginning = []
    // Copied, because the next piece is read into the same memory.
    else if (next < bytesRead) beginning.push(Buffer.from(bytes.subarray(next)))
  }
  return lineStart
}

const pieceSize = 64 * 1024
const newline = 0x0a

function toText(beginning: readonly Buffer[], end: Buffer): string {
  return beginning.length === 0 ? end.toString() : Buffer.concat([...beginning, end]).toString()
}
