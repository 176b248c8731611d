/** The id of the row of a header or an attribute in the request panel; empty for a name that is none of an id. */
export function rowId(what: 'header' | 'attribute', name: string): string {
  const key = name.toLowerCase()
  return /^[\w.-]+$/.test(key) ? `${what}-${key}` : ''
}
