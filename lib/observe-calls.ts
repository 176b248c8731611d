import { noteFailure } from './guard.ts'

/** A function with any values and any result. */
export type AnyFunction = (this: unknown, ...args: unknown[]) => unknown

/** What follows a call. */
export interface Following {
  /** Gets the result. What it returns, the caller gets in its place, unless it is nothing. */
  after?(result: unknown): unknown
  /**
   * Called with the error of a call. Only with it the call has a frame of this file, which an error does not have any
   * more when it is passed on. It is not called for an async function, which throws nothing where it is called.
   */
  failed?(error: unknown): void
}

/**
 * Is called before each call of an observed function. It may change the list of arguments. It returns
 * what follows the call, or another function that is called instead. Its own error is reported.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that only looks at a call returns nothing
export type BeforeCall = (self: unknown, args: unknown[]) => Following | AnyFunction | undefined | void

/**
 * Returns a function that an application cannot distinguish from another one, except by its
 * identity: name, length, `this`, `new` and all properties are those of the other one. Its calls
 * have no frame in the stacks of errors, and use up nothing of `Error.stackTraceLimit`.
 *
 * V8 shows each function that runs, so none may run: a proxy passes the call to a function of
 * WebAssembly, which calls `before`, and then jumps to the function (`return_call`, a tail call).
 * `after` gets the result from an object in the place of a list of arguments, whose only item is a
 * getter: V8 calls it itself. A call costs 40 ns more, and 0.2 µs with `after`.
 */
export function observeCalls(code: AnyFunction, before: BeforeCall): AnyFunction {
  return new Proxy(code, new Observation(before))
}

/**
 * Observes the calls of a method of an object, also by other properties that have it. These keep
 * their attributes. The returned function puts the method back, unless another tool has replaced
 * it since. Nothing happens without the method.
 */
export function observeMethod(target: object | undefined, name: string, before: BeforeCall): () => void {
  const code: unknown = target && Reflect.get(target, name)
  if (target === undefined || typeof code !== 'function') return () => undefined
  const observed = observeCalls(code as AnyFunction, before)
  const own = Object.getOwnPropertyDescriptors(target)
  const names = name in own ? Object.keys(own).filter(each => own[each]?.value === code || each === name) : [name]
  for (const each of names) {
    const shape = own[each] ?? { writable: true, configurable: true, enumerable: false }
    // The getter of an export stays one.
    const value = 'get' in shape ? { ...shape, get: () => observed } : { ...shape, value: observed }
    Reflect.defineProperty(target, each, value)
  }
  return () => {
    for (const each of names) {
      if (Reflect.get(target, each) !== observed) continue
      const shape = own[each]
      if (shape === undefined) Reflect.deleteProperty(target, each)
      else Reflect.defineProperty(target, each, shape)
    }
  }
}

/** The handler of a proxy. V8 reads `apply` just before it calls it. */
class Observation implements ProxyHandler<AnyFunction> {
  readonly #before: BeforeCall
  readonly #trap: Trap

  constructor(before: BeforeCall) {
    this.#before = before
    trap ??= createTrap(Reflect.get(globalThis, 'WebAssembly'))
    this.#trap = trap
  }

  get apply(): Trap {
    begun = this.#before
    return this.#trap
  }
}

let begun: BeforeCall

let trap: Trap | undefined

/** The part of the global `WebAssembly` that is used; the types of Node do not declare it. */
interface Assembly {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: { readonly f: Trap } }
}

type Trap = (code: AnyFunction, self: unknown, args: unknown[]) => unknown

// The application may replace them later.
const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, set } = Reflect
const { bind } = Function.prototype
const { toString: toHeader } = Error.prototype

/** A function, its `this` and its arguments. */
type Call = [code: AnyFunction | undefined, self: unknown, args: unknown]

/**
 * The call that is made next, and the call whose result it gets. V8 reads them before other code
 * runs, so one of each is enough.
 */
const next: Call = [undefined, undefined, undefined]
const followed: Call = [undefined, undefined, undefined]

/** A list with one item, the result of the call that is followed. A bound function is the getter: it has no frame. */
const results = { length: 1 }
defineProperty(results, 0, { get: apply(bind, apply, [undefined, apply, undefined, followed]) })

function fill(each: Call, code: AnyFunction, self: unknown, args: unknown): Call {
  each[0] = code
  each[1] = self
  each[2] = args
  return each
}

/** What async functions inherit from: they throw nothing where they are called. */
const asyncFunction: unknown = getPrototypeOf(async () => undefined)

function prepare(code: AnyFunction, self: unknown, args: unknown[]): Call {
  let following: ReturnType<BeforeCall>
  let isGuarded = false
  try {
    following = begun(self, args)
    // Here, because a proxy of the application may throw.
    isGuarded =
      typeof following === 'object' && following.failed !== undefined && getPrototypeOf(code) !== asyncFunction
  } catch (error) {
    noteFailure(error, `calls of ${code.name}`)
  }
  if (following === undefined) return fill(next, code, self, args)
  if (typeof following === 'function') return fill(next, following, self, args)
  if (isGuarded) return fill(next, guardedCall as AnyFunction, following, [code, self, args])
  if (following.after === undefined) return fill(next, code, self, args)
  fill(followed, code, self, args)
  return fill(next, finish, following.after, results)
}

function finish(this: unknown, result: unknown): unknown {
  try {
    const other = (this as NonNullable<Following['after']>)(result)
    return other === undefined ? result : other
  } catch (error) {
    noteFailure(error, 'the result of a call')
    return result
  }
}

/** Calls a function, and what follows the call. No other frame of this package is on the stack meanwhile. */
export function guardedCall(this: Following, code: AnyFunction, self: unknown, args: unknown[]): unknown {
  const { stackTraceLimit } = Error
  // The frame of this function takes the place of none of the application.
  const isLimited = stackTraceLimit > 0 && set(Error, 'stackTraceLimit', stackTraceLimit + 1)
  let result: unknown
  try {
    result = apply(code, self, args)
  } catch (error) {
    if (isLimited) set(Error, 'stackTraceLimit', stackTraceLimit)
    try {
      hideFrame(error, stackTraceLimit)
      this.failed?.(error)
    } catch (failure) {
      noteFailure(failure, `errors of ${code.name}`)
    }
    throw error
  }
  if (isLimited) set(Error, 'stackTraceLimit', stackTraceLimit)
  return this.after === undefined ? result : apply(finish, this.after, [result])
}

const frame = /\n[^\n]*\bguardedCall\b[^\n]*/g

/** The limits of stacks, by the functions that read them without the frame of `guardedCall`. */
const limits = new WeakMap<object, Limits>()

interface Limits {
  /** That of V8 in the innermost call. */
  readonly captured: number
  /** That of the application. */
  limit: number
}

/**
 * Removes the frame of `guardedCall` from the stack of an error, when it is read. Only then V8 writes the message
 * above the frames, and an application may change it before, as Knex does.
 */
function hideFrame(error: unknown, limit: number): void {
  if (!(error instanceof Error)) return
  const own = getOwnPropertyDescriptor(error, 'stack')
  if (own === undefined) return
  const { get, value } = own
  const known = get && limits.get(get)
  if (known !== undefined) {
    // The error leaves a call that was around the other one.
    known.limit = limit
    return
  }
  const header = apply(toHeader, error, [])
  const kept: Limits = { captured: limit + 1, limit }
  // Before Node 21, V8 has written the message now: it is written again.
  const isWritten = typeof value === 'string' && value.startsWith(header)
  const write = (self: object, stack: unknown) =>
    defineProperty(self, 'stack', { value: stack, writable: true, configurable: true, enumerable: false })
  const read = () => {
    const stack = isWritten
      ? apply(toHeader, error, []) + value.slice(header.length)
      : get
        ? apply(get, error, [])
        : value
    const shown = typeof stack === 'string' ? withoutFrame(stack, kept) : stack
    write(error, shown)
    return shown
  }
  limits.set(read, kept)
  // Since Node 21, an object that inherits from the error has no stack of its own.
  const holder = get && error
  function replace(this: object, stack: unknown): void {
    write(holder ?? this, stack)
  }
  defineProperty(error, 'stack', { get: read, set: replace, configurable: true, enumerable: false })
}

/** Whether a getter of a stack is that of this module, which runs no code of the application. */
export function isStackReader(getter: object): boolean {
  return limits.has(getter)
}

function withoutFrame(stack: string, { captured, limit }: Limits): string {
  const lines = stack.replace(frame, '').split('\n    at ')
  // A stack that is deeper than its limit has other frames instead.
  const isFull = stack.split('\n    at ').length > captured
  return (isFull ? lines.slice(0, limit + 1) : lines).join('\n    at ')
}

/**
 * `(code, self, args) => return_call applyList(prepare(code, self, args))` as WebAssembly: a type
 * for each of the two imports, `prepare` with three references and `applyList` with one; the
 * function, its export, and its seven instructions.
 */
const trampoline = Uint8Array.from(
  [
    ['0061736d01000000', '010d0260036f6f6f016f60016f016f', '020d02', '016101620000', '016101630001'],
    ['03020100', '07050101660002', '0a0e010c00', '20002001200210001201', '0b'],
  ]
    .flat()
    .join('')
    .match(/../g) ?? [],
  byte => Number.parseInt(byte, 16),
)

/** Without WebAssembly, as with the option `--jitless` of Node, calls have a frame. */
export function createTrap(assembly: Assembly | undefined): Trap {
  const applyList = apply.bind(undefined, apply, undefined) as unknown as (call: Call) => unknown
  if (assembly === undefined) return (code, self, args) => applyList(prepare(code, self, args))
  return new assembly.Instance(new assembly.Module(trampoline), { a: { b: prepare, c: applyList } }).exports.f
}
