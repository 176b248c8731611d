import {
  AnswerableEvent,
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  type KernelEvent,
  ResponseEvent,
} from '../../../kernel/events.ts'
import type { Body, Response } from '../../../lib/http/response.ts'

/** Watches one object for changes. */
interface Watch {
  /** Returns the changes since the last call. */
  take(): string[] | undefined
}

const changeLimit = 50

/** Watches what listeners change: the attributes of the request, and the response, controller and error of an event. */
export class ChangeWatch {
  readonly #attributes: AttributeWatch
  #watches: readonly Watch[] = []

  constructor(attributes: ReadonlyMap<string, unknown>) {
    this.#attributes = new AttributeWatch(attributes)
  }

  /** Watches this event instead of the previous one. */
  follow(event: KernelEvent): void {
    this.#watches = createWatches(event)
  }

  /** Returns the changes since the last call, such as `set attribute _route`; `undefined` without changes. */
  take(): string[] | undefined {
    let changes = this.#attributes.take()
    for (const watch of this.#watches) {
      const more = watch.take()
      if (more !== undefined) changes = changes === undefined ? more : [...changes, ...more]
    }
    if (changes === undefined || changes.length <= changeLimit) return changes
    return [...changes.slice(0, changeLimit), `and ${changes.length - changeLimit} more`]
  }
}

function createWatches(event: KernelEvent): readonly Watch[] {
  if (event instanceof ResponseEvent) return [new ResponseWatch(event)]
  if (event instanceof ControllerEvent || event instanceof ControllerArgumentsEvent) {
    return [new IdentityWatch(() => event.controller, 'replaced the controller')]
  }
  if (!(event instanceof AnswerableEvent)) return []
  const response = new ResponseWatch(event)
  return event instanceof ExceptionEvent
    ? [response, new IdentityWatch(() => event.error, 'replaced the error')]
    : [response]
}

class IdentityWatch implements Watch {
  readonly #read: () => unknown
  readonly #change: string
  #seen: unknown

  constructor(read: () => unknown, change: string) {
    this.#read = read
    this.#change = change
    this.#seen = read()
  }

  take(): string[] | undefined {
    const value = this.#read()
    if (Object.is(value, this.#seen)) return undefined
    this.#seen = value
    return [this.#change]
  }
}

/** An event that has a response, or will have one. */
interface Answered {
  readonly response: Response | undefined
}

/** Watches the response of an event. Headers are compared only when their revision has changed. */
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

  /** Returns the changes since the last call, such as `set header etag`; `undefined` without changes. */
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

/** Most changes append a field, so the common start of both lists is skipped. */
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
  for (let at = start; at < fields.length; at += 2) names.push((fields[at] ?? '').toLowerCase())
  return names
}

/** All values of a field, separated by a line break, which no value contains. */
function valuesOf(fields: readonly string[], name: string): string | undefined {
  let values: string | undefined
  for (let at = 0; at < fields.length; at += 2) {
    const field = fields[at] ?? ''
    if (field.length !== name.length || field.toLowerCase() !== name) continue
    values = values === undefined ? fields[at + 1] : `${values}\n${fields[at + 1]}`
  }
  return values
}

/** A request with more attributes is not watched: every call of a listener would compare them all. */
export const attributeLimit = 100

/**
 * Watches which attributes of a request are set, changed and removed. Requests have
 * few attributes, so they are compared one by one.
 */
export class AttributeWatch {
  readonly #attributes: ReadonlyMap<string, unknown>
  #names: string[] = []
  #values: unknown[] = []

  constructor(attributes: ReadonlyMap<string, unknown>) {
    this.#attributes = attributes
  }

  /** Returns the changes since the last call, such as `set attribute _route`; `undefined` without changes. */
  take(): string[] | undefined {
    if (this.#isUnchanged()) return undefined
    const attributes = this.#attributes
    const names: string[] = []
    const values: unknown[] = []
    const changes: string[] = []
    for (const [name, value] of attributes) {
      names.push(name)
      values.push(value)
      const before = this.#names.indexOf(name)
      if (before === -1) changes.push(`set attribute ${name}`)
      else if (!Object.is(this.#values[before], value)) changes.push(`changed attribute ${name}`)
    }
    for (const name of this.#names) if (!attributes.has(name)) changes.push(`removed attribute ${name}`)
    this.#names = names
    this.#values = values
    return changes
  }

  #isUnchanged(): boolean {
    const attributes = this.#attributes
    if (attributes.size > attributeLimit) return true
    if (attributes.size !== this.#names.length) return false
    for (let at = 0; at < this.#names.length; at++) {
      const name = this.#names[at] as string
      const value = attributes.get(name)
      if (!Object.is(value, this.#values[at]) || (value === undefined && !attributes.has(name))) return false
    }
    return true
  }
}
