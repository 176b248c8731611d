/** Something that was changed while a request was handled. */
export interface Change {
  /** `set`, `changed`, `removed` or `replaced`; empty for what is only told. */
  readonly verb: string
  /** `header`, `attribute`, `response`, `status` …; empty for what is only told. */
  readonly what: string
  /** Of a header or an attribute. */
  readonly name: string
}

const pattern =
  /^(set|changed|removed|replaced) (?:(header|attribute) (.*)|the (response|status|body|controller|error))$/s

/** Reads a change as it was recorded: `set header etag`, `replaced the response`. */
export function parseChange(text: string): Change {
  const [, verb = '', named, name = '', other = ''] = pattern.exec(text) ?? []
  return verb === '' ? { verb: '', what: '', name: text } : { verb, what: named ?? other, name }
}
