import type { CollectorData, Profile } from './profile.ts'

/**
 * Recorded data holds what was derived from it under this key. The values of a WeakMap would survive minor garbage
 * collections.
 */
const derivedKey: unique symbol = Symbol('derived')

interface Derived {
  [derivedKey]?: Map<object, object>
}

/**
 * Wraps a function that derives data from the recorded data of a profile, so that it runs once per profile: a panel, the
 * menu and the rules need the same data.
 */
export function oncePerProfile<result extends object>(
  derive: (collectors: CollectorData) => result,
): (profile: Profile) => result {
  return ({ collectors }) => {
    const holder: CollectorData & Derived = collectors
    holder[derivedKey] ??= new Map()
    const derived = holder[derivedKey]
    // Under a function are only its own results.
    let result = derived.get(derive) as result | undefined
    if (result === undefined) {
      result = derive(collectors)
      derived.set(derive, result)
    }
    return result
  }
}
