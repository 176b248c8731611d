import path from 'node:path'
import { isThenable } from '../event-dispatcher/event-dispatcher.ts'
import type { Request } from '../http/request.ts'
import { findOwnFrame, locateFrame, parseStack } from '../stack/stack-frames.ts'
import { VIEW_GLOBAL_INVALID, VIEW_RENDER_FAILED, VIEW_REQUEST_MISSING } from './errors.ts'

/**
 * Computes a global for a request, or returns a promise of it. The request is the main request, also for a fragment.
 */
type GlobalFunction = (request: Request) => unknown

/** The value of a global, or the function that computes it. */
export type Global = GlobalFunction | object | string | number | boolean | null

/** The values of globals by their names. */
export type GlobalValues = Readonly<Record<string, unknown>>

/** Names with `@` that Handlebars defines, and three of the view. */
const ownNames: readonly string[] = [
  'root',
  'index',
  'key',
  'first',
  'last',
  'partial-block',
  'request',
  'pending',
  'globals',
]

/** The names with `@` that a template may use without a global. */
export const dataNames: ReadonlySet<string> = new Set(ownNames.slice(0, 6))

/** A main request holds its values under this key: a map from requests would keep the garbage collector busy. */
const valuesKey: unique symbol = Symbol('globals')

/** Values that all templates can use, by the names `@user`. */
export class Globals {
  readonly #values = new Map<string, unknown>()
  readonly #registrations = new Registrations()

  /** @throws VIEW_GLOBAL_INVALID */
  add(name: string, value: unknown, directory: string): void {
    if (!/^[A-Za-z]\w*$/.test(name)) throw new VIEW_GLOBAL_INVALID([name, 'the name must be letters, digits and "_"'])
    if (ownNames.includes(name)) throw new VIEW_GLOBAL_INVALID([name, `@${name} has a meaning already`])
    const place = this.#registrations.find(name, directory)
    if (place !== undefined) throw new VIEW_GLOBAL_INVALID([name, `there is one of that name already${place}`])
    this.#registrations.note(name)
    this.#values.set(name, value)
  }

  names(): readonly string[] {
    return [...this.#values.keys()]
  }

  /**
   * The values of some globals for a page. A function is called once for each main request. Returns
   * a promise only if a value is a promise. @throws VIEW_REQUEST_MISSING VIEW_RENDER_FAILED
   */
  read(names: readonly string[], page: string, request: Request | undefined): GlobalValues | Promise<GlobalValues> {
    const values = names.map(name => this.#read(name, page, request))
    const toObject = (complete: readonly unknown[]) =>
      Object.fromEntries(names.map((name, index) => [name, complete[index]]))
    return values.some(isThenable) ? Promise.all(values).then(toObject) : toObject(values)
  }

  #read(name: string, page: string, request: Request | undefined): unknown {
    const value = this.#values.get(name)
    if (typeof value !== 'function') return value
    if (request === undefined) throw new VIEW_REQUEST_MISSING([`global "${name}"`])
    const main: Request & { [valuesKey]?: Map<string, unknown> } = findMain(request)
    main[valuesKey] ??= new Map()
    const known = main[valuesKey]
    if (!known.has(name))
      known.set(
        name,
        compute(value as GlobalFunction, main, error => explain(name, page, error)),
      )
    return known.get(name)
  }
}

function compute(value: GlobalFunction, request: Request, explain: (error: unknown) => Error): unknown {
  let computed: unknown
  try {
    computed = value(request)
  } catch (error) {
    throw explain(error)
  }
  if (!isThenable(computed)) return computed
  const promise = Promise.resolve(computed).catch((error: unknown) => {
    throw explain(error)
  })
  // Another global may fail the page first. A later rejection must not end the process.
  promise.catch(() => undefined)
  return promise
}

function explain(name: string, page: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error)
  return new VIEW_RENDER_FAILED([page, `the global "${name}" has failed: ${reason}`], { cause: error })
}

function findMain(request: Request): Request {
  return request.parent === undefined ? request : findMain(request.parent)
}

/** Remembers where helpers and globals were added, for the message about a second one with the same name. */
export class Registrations {
  readonly #places = new Map<string, Error>()

  /** Remembers the place of the running call. Its stack becomes text only if the place is needed. */
  note(name: string): void {
    this.#places.set(name, new Error(name))
  }

  /**
   * The place of a name as the end of a sentence, such as
   * `, added in bundles/shop/shop-bundle.ts:12`; `undefined` if it is new.
   */
  find(name: string, directory: string): string | undefined {
    const place = this.#places.get(name)
    if (place === undefined) return undefined
    // Without a call of the application, that of a package, which is below those of this folder.
    const [{ file: own = '' } = {}, ...frames] = parseStack(place)
    const isOther = ({ file = own }) => path.dirname(file) !== path.dirname(own)
    const frame = findOwnFrame(place, directory) ?? frames.find(isOther)
    return frame === undefined ? '' : `, added in ${locateFrame(frame, directory).file}:${frame.line}`
  }
}
