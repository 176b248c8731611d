import { formatNumber } from './format-number.ts'

/** Writes how many there are of something: `1 error`, `1,200 errors`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`
}
