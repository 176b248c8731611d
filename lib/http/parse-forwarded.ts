/** One proxy's part of a `Forwarded` header: the values of its parameters, by names in lower case. */
export type ForwardedElement = ReadonlyMap<string, string>

/** One `name=value` and what ends it. A value need not be quoted where it has a colon: many proxies do not quote it. */
const pair = /(?:[\t ]*([!#$%&'*+.^_`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\t ",;]+))?[\t ]*([,;]|$)/gy

/** Reads a `Forwarded` header (RFC 7239, section 4), the farthest proxy first; `undefined` when it is not one. */
export function parseForwarded(header: string): readonly ForwardedElement[] | undefined {
  const elements = [new Map<string, string>()]
  let end = 0
  for (const [all, name, value = '', separator] of header.matchAll(pair)) {
    end += all.length
    const element = elements.at(-1)
    const key = name?.toLowerCase()
    if (key !== undefined && element?.has(key)) return undefined
    if (key !== undefined) element?.set(key, unquote(value))
    if (separator === ',') elements.push(new Map())
  }
  return end === header.length ? elements : undefined
}

function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value
}
