import { isUtf8 } from 'node:buffer'
import { followUnit, type UnitStart } from '../../kernel/contracts/units.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'

/**
 * Records the calls of the functions that listen to events of an emitter as work, if `describe`
 * says what each is. A function for one event only mostly settles a promise: it is not observed.
 */
export function observeListeners(
  prototype: object | undefined,
  isMessage: (emitter: object, event: unknown) => boolean,
  describe: (emitter: object, event: string, values: readonly unknown[]) => UnitStart,
): void {
  for (const name of ['on', 'addListener', 'prependListener']) {
    observeMethod(prototype, name, (self, args) => {
      const [event, listener] = args
      if (typeof listener !== 'function' || 'listener' in listener || !isMessage(Object(self), event)) return
      const begin = (_: unknown, values: readonly unknown[]) =>
        followUnit(describe(Object(self), String(event), values))
      args[1] = new Proxy(observeCalls(listener as AnyFunction, begin), { get: toWrapped(listener) })
    })
  }
}

/**
 * Node finds the function of an application, to list or to remove it, by this property of the function in its place.
 */
function toWrapped(listener: object): NonNullable<ProxyHandler<object>['get']> {
  return (target, name) => (name === 'listener' ? listener : Reflect.get(target, name))
}

/** What bytes contain: JSON, another text, or else the bytes. Most protocols do not say whether they are a text. */
export function parseBytes(bytes: unknown): unknown {
  return Buffer.isBuffer(bytes) && isUtf8(bytes) ? parseText(bytes.toString()) : bytes
}

/** Characters of a message that is parsed as JSON. */
const parsedLimit = 65_536

/** Parses the text of a message if it is JSON: then secrets are known by their names. */
export function parseText(text: string): unknown {
  if (text.length > parsedLimit || !/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
