/** Writes a part of a whole in percent: `12.5 %`; of nothing it is `0.0 %`. */
export function formatShare(part: number, whole: number): string {
  return `${(whole > 0 ? (part / whole) * 100 : 0).toFixed(1)} %`
}
