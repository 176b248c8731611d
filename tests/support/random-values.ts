import { HttpError, Request } from 'sinfonietta'
import { Response } from '#lib/http/response.ts'
import type { ControllerSpec, ThenableForm, Thrown } from './random-application.ts'

/** The values of one run of a random application. Each is numbered in the order of its creation. */
export class Values {
  readonly #write: (line: string) => void
  readonly #names = new Map<unknown, string>()
  readonly #shared = new Error('shared')
  #count = 0

  /** @param write adds a line to the log of the run */
  constructor(write: (line: string) => void) {
    this.#write = write
  }

  /** A response, or a value that is not a response. */
  response(status: number, isValid = true): Response {
    const label = this.#next()
    // The types allow only a response; code in JavaScript does not know them.
    if (!isValid) return label as unknown as Response
    return new Response(label, { status, headers: { 'x-made': label } })
  }

  /** The result of a controller. */
  result(kind: ControllerSpec['result'], status: number): unknown {
    if (kind === 'nothing') return undefined
    if (kind === 'text') return this.#next()
    if (kind === 'object') return { id: this.#next() }
    if (kind === 'platform response') return new globalThis.Response()
    return this.response(status)
  }

  /** A value to throw. */
  throwable(kind: Thrown): unknown {
    const label = `${kind} ${this.#next()}`
    const value = this.#createThrowable(kind, label)
    if (Object(value) === value && !this.#names.has(value)) this.#names.set(value, label)
    return value
  }

  #createThrowable(kind: Thrown, label: string): unknown {
    switch (kind) {
      case 'undefined':
        return undefined
      case 'null':
        return null
      case 'text':
        return label
      case 'http':
        return new HttpError(418, label, { headers: { 'x-tea': 'green' } })
      case 'frozen error':
        return Object.freeze(new Error(label))
      case 'frozen object':
        return Object.freeze({ label })
      case 'shared error':
        return this.#shared
      case 'error with a cause':
        return new Error(label, { cause: new Error(`cause of ${label}`) })
      case 'circle of causes':
        return createCircle(label)
      case 'refusing proxy':
        return new Proxy({}, refusing)
      default:
        return new Error(label)
    }
  }

  /** An object with a `then`. */
  thenable(form: ThenableForm, label: string, value: unknown, error: unknown): object {
    if (form === 'cannot be read') {
      const read = () => {
        throw error
      }
      return Object.defineProperty({}, 'then', { get: read })
    }
    return {
      // biome-ignore lint/suspicious/noThenProperty: it is the subject of the test
      then: (fulfil: (value: unknown) => void, reject: (error: unknown) => void) => {
        this.#write(`then of ${label}`)
        if (form === 'throws') throw error
        if (form === 'rejects') reject(error)
        else if (form === 'fulfils later') queueMicrotask(() => fulfil(value))
        else fulfil(value)
        if (form === 'fulfils twice') fulfil('the second value')
        if (form === 'fulfils, then throws') throw error
      },
    }
  }

  /** A text for a value, which is the same in each run. */
  describe(value: unknown, depth = 0): string {
    if (depth > 12) return '…'
    const name = this.#names.get(value)
    if (name?.startsWith('refusing')) return name
    if (value instanceof Request) return name ?? this.#nameRequest(value)
    if (value instanceof Response) {
      return `response ${value.status} ${JSON.stringify([...value.headers])} ${String(value.body)}`
    }
    if (value instanceof Error) {
      const cause = 'cause' in value ? ` caused by ${this.describe(value.cause, depth + 1)}` : ''
      return `${value.name} ${name ?? value.message}${cause}`
    }
    if (Array.isArray(value)) return `[${value.map(item => this.describe(item, depth + 1)).join(', ')}]`
    if (typeof value === 'object' && value !== null && 'call' in value) return String(Reflect.get(value, 'name'))
    return name ?? JSON.stringify(value) ?? String(value)
  }

  /** `request 1`; `request 1.2` for its second sub-request. */
  #nameRequest(request: Request): string {
    const parent = request.parent === undefined ? 'request ' : `${this.describe(request.parent)}.`
    const siblings = [...this.#names.values()].filter(name => {
      return name.startsWith(parent) && !name.slice(parent.length).includes('.')
    })
    const name = `${parent}${siblings.length + 1}`
    this.#names.set(request, name)
    return name
  }

  #next(): string {
    this.#count++
    return `#${this.#count}`
  }
}

function createCircle(label: string): Error {
  const first = new Error(label)
  first.cause = new Error(`cause of ${label}`, { cause: first })
  return first
}

const refuse = () => {
  throw new TypeError('refused')
}

const refusing: ProxyHandler<object> = {
  get: refuse,
  has: refuse,
  getPrototypeOf: refuse,
  defineProperty: refuse,
  getOwnPropertyDescriptor: refuse,
}
