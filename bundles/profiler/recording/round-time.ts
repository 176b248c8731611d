/** Rounds milliseconds to a microsecond: no clock here is better, and a record is shorter for it. */
export function roundTime(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}
