import type { ProfileSummary } from '../profile.ts'

/** Milliseconds: such headers tell whole seconds. */
const tolerance = 2000

/**
 * Writes the value of a response header without what is new in each response by its nature: a nonce, and an end of
 * freshness that is the time of the answer.
 */
export function toSteadyValue(
  name: string,
  value: string,
  { duration, time }: Pick<ProfileSummary, 'duration' | 'time'>,
): string {
  if (name === 'expires') {
    const expires = Date.parse(value)
    return expires >= time - tolerance && expires <= time + duration + tolerance ? '(when it was answered)' : value
  }
  return name.startsWith('content-security-policy') ? value.replace(/'nonce-[^']*'/g, "'nonce-…'") : value
}
