import type { Runtime, Session } from 'node:inspector'

/** A place in a script as V8 counts it: lines and columns from 0. */
type CodePlace = Pick<Runtime.CallFrame, 'columnNumber' | 'lineNumber' | 'scriptId'>

/** A key that is equal for a call frame and for the place of its function. */
export function placeKey({ columnNumber, lineNumber, scriptId }: CodePlace): string {
  return `${scriptId}:${lineNumber}:${columnNumber}`
}

const slot = 'sinfonietta.functions'

const objectGroup = 'sinfonietta'

/** A function takes about 0.1 ms. */
const limit = 1000

/**
 * The names of functions by the keys of their places. Samples have the name in the source: an inline function of a
 * route has none there, but gets one later. Functions that V8 cannot locate are absent.
 */
export function findFunctionNames(
  session: Session,
  functions: readonly { readonly name: string }[],
): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const propertiesOf = (objectId: string, read: (found: Runtime.GetPropertiesReturnType) => void) =>
    session.post('Runtime.getProperties', { objectId, ownProperties: true }, (error, found) => {
      if (error === null) read(found)
    })
  // A session to the own thread finds objects by a global variable only.
  Reflect.set(globalThis, slot, functions.slice(0, limit))
  session.post('Runtime.evaluate', { expression: `globalThis['${slot}']`, objectGroup }, (_, { result }) => {
    propertiesOf(result.objectId ?? '', ({ result }) => {
      for (const { name, value } of result) {
        const called = functions[Number(name)]
        if (called === undefined || value?.objectId === undefined) continue
        propertiesOf(value.objectId, ({ internalProperties = [] }) => {
          const place: unknown = internalProperties.find(({ name }) => name === '[[FunctionLocation]]')?.value?.value
          if (isPlace(place)) names.set(placeKey(place), called.name)
        })
      }
    })
  })
  session.post('Runtime.releaseObjectGroup', { objectGroup })
  Reflect.deleteProperty(globalThis, slot)
  return names
}

function isPlace(place: unknown): place is CodePlace {
  return typeof place === 'object' && place !== null && 'scriptId' in place
}
