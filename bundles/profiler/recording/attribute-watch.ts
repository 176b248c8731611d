import type { Attributes } from '../../../lib/http/request.ts'

/** Whoever attaches more to a request is not looked at so closely: each listener's call would have to compare it all. */
export const attributeLimit = 100

/**
 * Sees which attributes of a request are set, changed and removed. They are few, so they are compared one by one, which
 * costs a request without the profiler nothing.
 */
export class AttributeWatch {
  readonly #attributes: Attributes
  #names: string[] = []
  #values: unknown[] = []

  constructor(attributes: Attributes) {
    this.#attributes = attributes
  }

  /** What has changed since this was asked last, such as `set attribute _route`; `undefined` when nothing has. */
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
