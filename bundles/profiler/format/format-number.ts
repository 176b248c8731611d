/** Writes a whole number for people: `12,345`. What `toLocaleString` does costs a hundredth of a second the first time. */
export function formatNumber(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ',')
}
