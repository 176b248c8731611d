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

/** Most changes append a field, so what both lists begin with is skipped. */
function compareFields(before: readonly string[], after: readonly string[]): string[] {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  const start = same - (same % 2)
  const changes: string[] = []
  for (const name of new Set([...namesFrom(after, start), ...namesFrom(before, start)])) {
    const old = valuesOf(before, name)
    const value = valuesOf(after, name)
    if (old === undefined) changes.push(`set header ${name}`)
    else if (value === undefined) changes.push(`removed header ${name}`)
    else if (old !== value) changes.push(`changed header ${name}`)
  }
  return changes
}

function namesFrom(fields: readonly string[], start: number): string[] {
  const names: string[] = []
  for (let at = start; at < fields.length; at += 2) names.push(String(fields[at]).toLowerCase())
  return names
}

/** All values of a field; a line break, which no value has, stands between several. */
function valuesOf(fields: readonly string[], name: string): string | undefined {
  let values: string | undefined
  for (let at = 0; at < fields.length; at += 2) {
    const field = String(fields[at])
    if (field.length !== name.length || field.toLowerCase() !== name) continue
    values = values === undefined ? fields[at + 1] : `${values}\n${fields[at + 1]}`
  }
  return values
}
