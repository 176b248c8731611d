import type { FileSystem, OpenFile } from './file-system.ts'
import type { Place, RecordText, Span } from './index-entry.ts'
import { lineLimits } from './line-limits.ts'
import { readFile } from './read-file.ts'

/** Reads what stands in a place; `undefined` when that is no more. Facts that cannot be read are an empty text. */
export function readRecord(fileSystem: FileSystem, place: Place): Promise<RecordText | undefined> {
  return readFile(fileSystem, place.file.path, async file => {
    const record = await readSpan(file, place)
    const facts = await readSpan(file, place.facts)
    return record === undefined ? undefined : { record, facts: facts === undefined ? '' : unwrapFacts(facts) }
  })
}

/** Facts stand in a line of their own, which cannot be taken for a profile. */
export function wrapFacts(facts: string): string {
  return `${head}${facts}}`
}

/** Whether a line of a segment holds facts. */
export function isFactsLine(line: string): boolean {
  return line.startsWith(head)
}

const head = '{"facts":'

function unwrapFacts(line: string): string {
  return isFactsLine(line) ? line.slice(head.length, -1) : ''
}

async function readSpan(file: OpenFile, { offset, length }: Span): Promise<string | undefined> {
  if (length > lineLimits.record) return undefined
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, offset + read)
    if (bytesRead === 0) return undefined
    read += bytesRead
  }
  return bytes.toString()
}
