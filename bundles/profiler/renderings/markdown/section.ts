import type { RecordSubject } from '../record-subject.ts'

/** A part of a record as Markdown. */
export interface Section {
  /** The panel that shows the same. */
  readonly panel: string
  /** What is said when it has no blocks, where that is news. */
  readonly nothing?: string
  /** Its blocks, the headings (from level 2) among them; none where nothing was recorded. `limit` is that of its lists. */
  write(subject: RecordSubject, limit: number): readonly string[]
}
