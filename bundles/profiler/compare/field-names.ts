/** What fields of a summary are called in a comparison, unless by their own names. */
const fieldNames: ReadonlyMap<string, string> = new Map([
  ['contentType', 'content type'],
  ['url', 'URL'],
  ['ip', 'IP'],
  ['calls', 'outgoing calls'],
  ['subRequests', 'sub-requests'],
])

/** Names a field of a summary for people. */
export function nameOfField(field: string): string {
  return fieldNames.get(field) ?? field
}
