import type { Body, Response } from '../../../lib/http/response.ts'

/** Whatever has a response, or will have one. */
interface Answered {
  readonly response: Response | undefined
}

/** Sees what becomes of the response of an event. Its headers are only compared when their revision has moved. */
export class ResponseWatch {
  readonly #event: Answered
  #response: Response | undefined
  #revision = 0
  #fields: readonly string[] = []
  #status = 0
  #body: Body = null

  constructor(event: Answered) {
    this.#event = event
    this.#remember(event.response)
  }

  /** What has changed since this was asked last, such as `set header etag`; `undefined` when nothing has. */
  take(): string[] | undefined {
    const { response } = this.#event
    if (response !== this.#response) {
      const change = this.#response === undefined ? 'set the response' : 'replaced the response'
      this.#remember(response)
      return [change]
    }
    if (response === undefined) return undefined
    const { body, headers, status } = response
    const hasSameHeaders = headers.revision === this.#revision
    if (hasSameHeaders && status === this.#status && body === this.#body) return undefined

    const changes = hasSameHeaders ? [] : compareFields(this.#fields, headers.toRaw())
    if (status !== this.#status) changes.push('changed the status')
    if (body !== this.#body) changes.push('changed the body')
    this.#remember(response)
    return changes.length === 0 ? undefined : changes
  }

  #remember(response: Response | undefined): void {
    this.#response = response
    if (response === undefined) return
    this.#revision = response.headers.revision
    this.#fields = [...response.headers.toRaw()]
    this.#status = response.status
    this.#body = response.body
  }
}

function compareFields(fieldsBefore: readonly string[], fieldsAfter: readonly string[]): string[] {
  const before = byName(fieldsBefore)
  const after = byName(fieldsAfter)
  const changes: string[] = []
  for (const [name, value] of after) {
    const old = before.get(name)
    if (old === undefined) changes.push(`set header ${name}`)
    else if (old !== value) changes.push(`changed header ${name}`)
  }
  for (const name of before.keys()) if (!after.has(name)) changes.push(`removed header ${name}`)
  return changes
}

/** Values by lower-case names; a line break, which no value has, stands between several. */
function byName(fields: readonly string[]): Map<string, string> {
  const values = new Map<string, string>()
  for (let at = 0; at < fields.length; at += 2) {
    const name = String(fields[at]).toLowerCase()
    const known = values.get(name)
    values.set(name, known === undefined ? String(fields[at + 1]) : `${known}\n${fields[at + 1]}`)
  }
  return values
}
