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
  const width = clamp(pictureWidth * share(duration, whole), leastWidth, pictureWidth)
  const x = clamp(pictureWidth * share(start - whole.start, whole), 0, pictureWidth - width)
  return { x: round(x), width: round(width) }
}

const pictureWidth = 1000
const leastWidth = 4

function share(part: number, { duration }: Whole): number {
  const quotient = part / duration
  return Number.isFinite(quotient) ? quotient : 0
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10)
}
