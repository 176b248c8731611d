/** Bytes of the longest lines that are written and read: of a segment (a profile, or facts) and of an index. */
export const lineLimits: { readonly record: number; readonly index: number } = {
  record: 4 * 1024 * 1024,
  index: 64 * 1024,
}
