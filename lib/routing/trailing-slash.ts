/** The path without the slashes at its end; nothing is left of one that consists of slashes. */
export function trimSlashes(path: string): string {
  let end = path.length
  // Not a regexp: its time would grow with the square of a run of slashes.
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** The paths that may have been meant: a slash added, or those at the end removed or made one. */
export function correctSlash(path: string): readonly string[] {
  const trimmed = trimSlashes(path)
  if (trimmed === '') return []
  if (path.length === trimmed.length) return [`${path}/`]
  return path.length === trimmed.length + 1 ? [trimmed] : [trimmed, `${trimmed}/`]
}

/** Does to a path as it was sent, where `%2F` is a slash as well, what was done to its decoded form. */
export function applySlash(rawPath: string, corrected: string): string {
  let end = rawPath.length
  for (;;) {
    if (rawPath[end - 1] === '/') end--
    else if (/^%2f$/i.test(rawPath.slice(end - 3, end))) end -= 3
    else break
  }
  return rawPath.slice(0, end) + (corrected.endsWith('/') ? '/' : '')
}
