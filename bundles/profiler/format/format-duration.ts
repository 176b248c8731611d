/** Writes milliseconds for people: `0.042 ms`, `12.3 ms`, `1.25 s`. */
export function formatDuration(milliseconds: number): string {
  const size = Math.abs(milliseconds)
  if (size < 10) return `${milliseconds.toFixed(3)} ms`
  if (size < 1000) return `${milliseconds.toFixed(1)} ms`
  return `${(milliseconds / 1000).toFixed(2)} s`
}
