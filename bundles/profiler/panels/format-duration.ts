/** Writes microseconds as milliseconds, to a microsecond below 10 ms: `0.012 ms`, `48.3 ms`. */
export function formatDuration(microseconds: number): string {
  return `${(microseconds / 1000).toFixed(Math.abs(microseconds) < 10_000 ? 3 : 1)} ms`
}
