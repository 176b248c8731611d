import type { NameTest } from './secret-names.ts'

/** Keys whose value is the name of another value. */
export const namingKeys: readonly string[] = [
  'name',
  'key',
  'field',
  'param',
  'parameter',
  'property',
  'header',
  'variable',
  'k',
]
/** Keys of the value that such a name belongs to. */
export const valueKeys: readonly string[] = ['value', 'val', 'v', 'content', 'data']

/** The key of the value that another key of the object names as a secret: `value` of `{ name: 'password', value: 'x' }`. */
export function secretUnder(object: object, isSecret: NameTest): string | undefined {
  const key = valueKeys.find(key => Object.hasOwn(object, key))
  if (key === undefined) return undefined
  const isNamed = namingKeys.some(naming => {
    const name: unknown = Object.getOwnPropertyDescriptor(object, naming)?.value
    return typeof name === 'string' && isSecret(name)
  })
  return isNamed ? key : undefined
}
