type Segment = readonly number[]

/**
 * Encodes the segments of each line, such as `[column, source, line, column, name]`, as the mappings of a source map.
 */
export function encodeMappings(lines: readonly (readonly Segment[])[]): string {
  const before = [0, 0, 0, 0, 0]
  return lines
    .map(segments => {
      before[0] = 0
      return segments
        .map(segment =>
          segment
            .map((value, index) => {
              const change = value - (before[index] ?? 0)
              before[index] = value
              return encodeValue(change)
            })
            .join(''),
        )
        .join(',')
    })
    .join(';')
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

function encodeValue(value: number): string {
  let rest = value < 0 ? -value * 2 + 1 : value * 2
  let text = ''
  do {
    const digit = rest % 32
    rest = Math.floor(rest / 32)
    text += digits[digit + (rest > 0 ? 32 : 0)]
  } while (rest > 0)
  return text
}

/** The comment with which a file contains its source map. */
export function inlineMap(map: object): string {
  return `//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}\n`
}
