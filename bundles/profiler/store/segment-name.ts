/** What the names of a segment's files say. */
export interface SegmentName {
  /** The names without their endings; later segments of a process sort after earlier ones. */
  readonly name: string
  /** When it was begun, in milliseconds since 1970. */
  readonly time: number
  readonly pid: number
  /** Who writes it, and nobody else: a process, and one store in it. */
  readonly writer: string
}

/** The endings of a segment's two files. */
export const endings = { data: '.jsonl', index: '.index' } as const

/** Names a segment. */
export function createSegmentName(time: number, writer: string): SegmentName {
  return { name: `${String(time).padStart(16, '0')}-${writer}`, time, pid: Number.parseInt(writer, 10), writer }
}

/** Reads the name of a file with this ending; `undefined` when it is none of ours. */
export function parseSegmentName(file: string, ending: string): SegmentName | undefined {
  const name = file.endsWith(ending) ? file.slice(0, -ending.length) : ''
  const [, time, writer] = /^(\d{16})-([1-9]\d{0,8}-[0-9a-f]{8})$/.exec(name) ?? []
  return time === undefined || writer === undefined ? undefined : createSegmentName(Number(time), writer)
}
