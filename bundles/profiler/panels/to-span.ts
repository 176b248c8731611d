/** What a picture shows from its left to its right; the unit does not matter. */
export interface Whole {
  readonly start: number
  readonly duration: number
}

/** Where a bar lies in a picture that is 1,000 wide. */
export interface Span {
  readonly x: string
  readonly width: string
}

/** Places a period in a picture, wide enough to be seen and never beyond its edges. */
export function toSpan({ start, duration }: Whole, whole: Whole): Span {
  const scale = whole.duration > 0 ? pictureWidth / whole.duration : 0
  const width = clamp(duration * scale, leastWidth, pictureWidth)
  const x = clamp((start - whole.start) * scale, 0, pictureWidth - width)
  return { x: round(x), width: round(width) }
}

const pictureWidth = 1000
const leastWidth = 4

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10)
}
