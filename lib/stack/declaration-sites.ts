import { type Caller, choosePlaces } from './callers.ts'
import { type CodePlace, type FrameLocation, locateFrame, parseStack } from './stack-frames.ts'

/** A place in the code. */
export interface DeclarationSite {
  /** The file, as `locateFrame` names it. */
  readonly file: string
  readonly line: number
  readonly column: number
}

/** Something declared, and the frames of its declaration. */
interface DeclaredWork {
  readonly declared: object
  /** The nearest frame of the application. */
  readonly caller: Caller | undefined
  /** The nearest frame outside of the application. */
  readonly outside: CodePlace
}

const stacks = new WeakMap<object, { readonly message: string; readonly stack?: string }>()

/**
 * Remembers the place in the code that declares something now, such as a route and its controller:
 * the caller of the function `below`. A capture costs two microseconds; the stack is parsed, with
 * source maps, when the place is asked for.
 */
export function noteDeclaration(declared: readonly object[], below: (...values: never[]) => unknown): void {
  const caught = { message: '' }
  Error.captureStackTrace(caught, below)
  for (const each of declared) stacks.set(each, caught)
}

/** The stack of a declaration; `undefined` if it was not noted. */
export function declarationOf(declared: object): object | undefined {
  return stacks.get(declared)
}

/** An error has the place where something was declared, instead of one in the middle of its use. */
export function throwAt(declared: object, error: Error): never {
  const frames = stacks.get(declared)?.stack?.replace(/^.*\n/, '')
  if (frames !== undefined) error.stack = `${error.name}: ${error.message}\n${frames}`
  throw error
}

/** A place in a message, behind the name of what is there; empty for an unknown one. */
export function showPlace(place: DeclarationSite | undefined): string {
  return place === undefined ? '' : ` (${place.file}:${place.line})`
}

/** Finds the places where routes and controllers of an application were declared. */
export class Declarations {
  readonly #listAll: () => Iterable<unknown>
  readonly #directory: string
  /** Parsed once: it takes long, with source maps. */
  #listed: readonly DeclaredWork[] | undefined
  /** The places of declarations; `undefined` for a declaration without a place. */
  readonly #known = new WeakMap<object, DeclarationSite | undefined>()

  /**
   * `listAll` lists all declarations, so that a helper that makes several of them is recognised
   * and not taken for their place.
   */
  constructor(listAll: () => Iterable<unknown>, directory: string) {
    this.#listAll = listAll
    this.#directory = directory
  }

  /**
   * The place where something was declared: that of the application, or else the outermost known
   * one; `undefined` if unknown.
   */
  find(declared: unknown): DeclarationSite | undefined {
    if (!isNoted(declared)) return undefined
    if (!this.#known.has(declared)) this.#place(declared)
    return this.#known.get(declared)
  }

  #place(declared: object): void {
    this.#listed ??= Array.from(new Set(this.#listAll()))
      .filter(isNoted)
      .map(each => readWork(each, this.#directory))
    const isListed = this.#listed.some(work => work.declared === declared)
    const works = isListed ? this.#listed : [...this.#listed, readWork(declared, this.#directory)]
    const places = choosePlaces(works, () => false)
    for (const work of isListed ? works : works.slice(-1)) {
      const { column = 1, file, line = 1 } = work.caller === undefined ? work.outside : (places.get(work) ?? {})
      this.#known.set(work.declared, file === undefined ? undefined : { file, line, column })
    }
  }
}

function isNoted(declared: unknown): declared is object {
  return Object(declared) === declared && stacks.has(declared as object)
}

/**
 * The frames of the application before a frame of the package, and the first place that is not
 * that of a collection of routes.
 */
function readWork(declared: object, directory: string): DeclaredWork {
  const frames = parseStack(stacks.get(declared)).map(frame => ({
    ...frame,
    ...locateFrame(frame, directory),
  }))
  const own = frames.slice(frames.findIndex(isOwn))
  const end = own.findIndex(({ origin }) => origin === 'kernel')
  const [nearest, ...callers] = own.slice(0, end === -1 ? own.length : end).filter(isOwn)
  const outside: CodePlace = frames.find(({ file, origin }) => origin !== 'runtime' && isOutside(file)) ?? {}
  return { declared, caller: nearest && { ...nearest, callers }, outside }
}

function isOwn({ origin }: Pick<FrameLocation, 'origin'>): boolean {
  return origin === 'application'
}

/** A route of a bundle is declared by a call of the collection of routes. */
function isOutside(file: string | undefined): boolean {
  return file !== undefined && !/\blib[\\/]routing[\\/]/.test(file)
}
