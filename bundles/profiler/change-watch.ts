import { AnswerableEvent } from '../../kernel/events/answerable-event.ts'
import { ControllerArgumentsEvent } from '../../kernel/events/controller-arguments-event.ts'
import { ControllerEvent } from '../../kernel/events/controller-event.ts'
import { ExceptionEvent } from '../../kernel/events/exception-event.ts'
import type { KernelEvent } from '../../kernel/events/kernel-event.ts'
import { ResponseEvent } from '../../kernel/events/response-event.ts'
import type { Attributes } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'

/** Whoever attaches more to a request is not looked at so closely: every listener's call would have to compare it all. */
const attributeLimit = 100
const changeLimit = 50

/**
 * Sees what listeners change: attributes of the request; headers, status and body of the response; and, by their
 * identity, response, controller and error. What is compared between two calls is cheap: headers have a revision, and
 * attributes are few. A change is told once, to whoever asks first.
 */
export class ChangeWatch {
  readonly #attributes: Attributes
  #names: string[] = []
  #values: unknown[] = []
  #responding: ResponseEvent | undefined
  #answering: AnswerableEvent | undefined
  #failing: ExceptionEvent | undefined
  #choosing: ControllerEvent | ControllerArgumentsEvent | undefined
  #response: Response | undefined
  #revision = 0
  #fields: readonly string[] = []
  #status = 0
  #body: unknown
  #controller: unknown
  #error: unknown

  constructor(attributes: Attributes) {
    this.#attributes = attributes
  }

  /** Looks at this event from now on. */
  follow(event: KernelEvent): void {
    this.#responding = event instanceof ResponseEvent ? event : undefined
    this.#answering = event instanceof AnswerableEvent ? event : undefined
    this.#failing = event instanceof ExceptionEvent ? event : undefined
    this.#choosing = event instanceof ControllerEvent || event instanceof ControllerArgumentsEvent ? event : undefined
    this.#controller = this.#choosing?.controller
    this.#error = this.#failing?.error
    this.#response = this.#answering?.response
    if (this.#responding !== undefined) this.#remember(this.#responding.response)
  }

  /** What has changed since this was asked last, such as `set attribute _route`; `undefined` when nothing has. */
  take(): string[] | undefined {
    const changes: string[] = []
    if (!this.#hasSameAttributes()) this.#takeAttributes(changes)
    if (this.#responding !== undefined) this.#takeResponse(this.#responding.response, changes)
    if (this.#answering !== undefined && this.#answering.response !== this.#response) {
      this.#response = this.#answering.response
      changes.push('set the response')
    }
    if (this.#choosing !== undefined && this.#choosing.controller !== this.#controller) {
      this.#controller = this.#choosing.controller
      changes.push('replaced the controller')
    }
    if (this.#failing !== undefined && this.#failing.error !== this.#error) {
      this.#error = this.#failing.error
      changes.push('replaced the error')
    }
    if (changes.length <= changeLimit) return changes.length === 0 ? undefined : changes
    return [...changes.slice(0, changeLimit), `and ${changes.length - changeLimit} more`]
  }

  #hasSameAttributes(): boolean {
    const { size } = this.#attributes
    if (size > attributeLimit) return true
    if (size !== this.#names.length) return false
    let at = 0
    for (const [name, value] of this.#attributes) {
      if (this.#names[at] !== name || !Object.is(this.#values[at], value)) return false
      at++
    }
    return true
  }

  #takeAttributes(changes: string[]): void {
    const before = new Map(this.#names.map((name, at) => [name, this.#values[at]]))
    this.#names = [...this.#attributes.keys()]
    this.#values = [...this.#attributes.values()]
    for (const [name, value] of this.#attributes) {
      if (!before.has(name)) changes.push(`set attribute ${name}`)
      else if (!Object.is(before.get(name), value)) changes.push(`changed attribute ${name}`)
      before.delete(name)
    }
    for (const name of before.keys()) changes.push(`removed attribute ${name}`)
  }

  #takeResponse(response: Response, changes: string[]): void {
    if (response !== this.#response) {
      this.#remember(response)
      changes.push('replaced the response')
      return
    }
    const { body, headers, status } = response
    if (headers.revision !== this.#revision) compareHeaders(this.#fields, headers.toRaw(), changes)
    if (status !== this.#status) changes.push('changed the status')
    if (body !== this.#body) changes.push('changed the body')
    this.#remember(response)
  }

  #remember(response: Response): void {
    const { body, headers, status } = response
    if (response !== this.#response || headers.revision !== this.#revision) this.#fields = [...headers.toRaw()]
    this.#response = response
    this.#revision = headers.revision
    this.#status = status
    this.#body = body
  }
}

function compareHeaders(before: readonly string[], after: readonly string[], changes: string[]): void {
  const old = byName(before)
  for (const [name, value] of byName(after)) {
    const known = old.get(name)
    if (known === undefined) changes.push(`set header ${name}`)
    else if (known !== value) changes.push(`changed header ${name}`)
    old.delete(name)
  }
  for (const name of old.keys()) changes.push(`removed header ${name}`)
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
