import type { ResponseEvent } from '../../kernel/events/response-event.ts'
import type { Response } from '../../lib/http/response.ts'

/** Sees what becomes of the response of an event. Its headers are only compared when their revision has moved. */
export class ResponseWatch {
  readonly #event: ResponseEvent
  #response: Response
  #revision: number
  #fields: readonly string[]
  #status: number
  #body: unknown

  constructor(event: ResponseEvent) {
    const { response } = event
    this.#event = event
    this.#response = response
    this.#revision = response.headers.revision
    this.#fields = [...response.headers.toRaw()]
    this.#status = response.status
    this.#body = response.body
  }

  /** What has changed since this was asked last, such as `set header etag`; `undefined` when nothing has. */
  take(): string[] | undefined {
    const { response } = this.#event
    const { body, headers, status } = response
    const isSame = response === this.#response
    const hasSameHeaders = headers.revision === this.#revision
    if (isSame && hasSameHeaders && status === this.#status && body === this.#body) return undefined

    const changes: string[] = []
    if (!isSame) changes.push('replaced the response')
    else {
      if (!hasSameHeaders) changes.push(...compareFields(this.#fields, headers.toRaw()))
      if (status !== this.#status) changes.push('changed the status')
      if (body !== this.#body) changes.push('changed the body')
    }
    this.#response = response
    this.#revision = headers.revision
    this.#fields = [...headers.toRaw()]
    this.#status = status
    this.#body = body
    return changes.length === 0 ? undefined : changes
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
