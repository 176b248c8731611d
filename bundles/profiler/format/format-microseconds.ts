import { formatDuration } from './format-duration.ts'

/** Writes microseconds as milliseconds or seconds: `0.012 ms`. */
export function formatMicroseconds(microseconds: number): string {
  return formatDuration(microseconds / 1000)
}
