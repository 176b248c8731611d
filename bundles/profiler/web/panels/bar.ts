import type { Period } from '../../profile/work.ts'

/** A bar in a picture: in units of its width of 1,000, or in percent. */
export interface Bar {
  readonly x: string
  readonly width: string
}

const pictureWidth = 1000
const leastWidth = 4

/** Draws a period in a picture that shows `whole`: wide enough to be seen, and never beyond the edges. Any unit of time. */
export function toBar({ start, duration }: Period, whole: Period): Bar {
  const width = clamp(pictureWidth * shareOf(duration, whole), leastWidth, pictureWidth)
  const x = clamp(pictureWidth * shareOf(start - whole.start, whole), 0, pictureWidth - width)
  return { x: round(x), width: round(width) }
}

/** Writes a position, to a hundred-thousandth of the width: `12.345%`. */
export function toPercent(percent: number): string {
  return `${Number(percent.toFixed(3))}%`
}

function shareOf(part: number, { duration }: Period): number {
  const quotient = part / duration
  return Number.isFinite(quotient) ? quotient : 0
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10)
}
