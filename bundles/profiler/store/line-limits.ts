import { sizeLimit } from '../profile/parse-profile.ts'

/** Bytes of the longest lines that are written and read: of a segment (a profile, or facts) and of an index. */
export const lineLimits: { readonly record: number; readonly index: number } = {
  record: sizeLimit,
  index: 64 * 1024,
}
