import path from 'node:path'
import type { RecordFile } from './index-entry.ts'
import { endings, type SegmentName } from './segment-name.ts'

/** A segment as far as it is known: two files, of which one holds the lines and the other says what they are. */
export class Segment implements RecordFile {
  readonly name: SegmentName
  readonly path: string
  readonly indexPath: string
  /** Bytes of both files. */
  bytes = 0
  records = 0
  /** When the last of its profiles was kept. */
  newest: number
  /** When its process has written last, in milliseconds since 1970. */
  modified = 0

  constructor(directory: string, name: SegmentName) {
    this.name = name
    this.path = path.join(directory, name.name + endings.data)
    this.indexPath = path.join(directory, name.name + endings.index)
    this.newest = name.time
  }
}
