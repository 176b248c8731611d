/** The most edits that a process knows. */
const editLimit = 20

/** Bytes of all edits: Linux starts no program with an argument of 128 KiB. */
const editBytes = 100_000

/** The most names of changed files that a process gets. */
export const nameLimit = 50

/** When files have changed, and their names. */
export interface Edit {
  readonly time: number
  readonly files: readonly string[]
}

/** Adds an edit with its files; the oldest edit is the first. Without files the edits stay the same. */
export function appendEdit(edits: readonly Edit[], files: ReadonlySet<string>, time: number): readonly Edit[] {
  if (files.size === 0) return edits
  const edit = { time, files: [...files].slice(0, nameLimit) }
  const all = [...edits, edit].toSorted((one, other) => one.time - other.time).slice(-editLimit)
  while (Buffer.byteLength(JSON.stringify(all)) > editBytes) all.shift()
  return all
}
