/** Bytes of a file, both ends included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * The bytes that a Range header asks for (RFC 9110, section 14.2). `undefined` when everything is to be sent: the header
 * is not valid, asks for several ranges, or there are no bytes; a server may always ignore it.
 */
export function parseRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, set] = /^bytes=(.*)$/i.exec(header.trim()) ?? []
  if (set === undefined || size === 0) return undefined
  const texts = set.split(',').map(text => text.trim())
  const ranges = texts.filter(text => text !== '').map(text => parseOne(text, size))
  if (ranges.length === 0 || ranges.includes(undefined)) return undefined
  const [range, another] = ranges.filter(range => range !== undefined).filter(({ start }) => start < size)
  if (range === undefined) return 'unsatisfiable'
  return another === undefined ? range : undefined
}

function parseOne(text: string, size: number): ByteRange | undefined {
  const [, first, last] = /^(\d*)-(\d*)$/.exec(text) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  // The last so many bytes, which may be more than there are.
  if (first === '') return { start: Math.max(size - Number(last), 0), end: size - 1 }
  if (last !== '' && Number(last) < Number(first)) return undefined
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
