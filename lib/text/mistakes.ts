import { describeValue, isAsync, isClass, isKeyed, isPlainObject } from './describe-value.ts'

/**
 * The keys of all properties of a type, with what their values must be; `true` for any value. The
 * compiler refuses a shape that lacks a key, has one too many, or does not fit the type.
 */
export type ShapeOf<type> = { readonly [key in keyof type]-?: true | ValueShape<Exclude<type[key], undefined>> }

/**
 * The name of a type; for objects also a shape; for lists also the shape of each item. A value of
 * several types has none.
 */
type ValueShape<value> = ShapeNamed<OnlyOne<NameOf<value>>, value>

type ShapeNamed<name, value> = [name] extends [never]
  ? never
  : name extends 'object'
    ? 'object' | ShapeOf<value>
    : name extends 'list'
      ? 'list' | readonly [ValueShape<ItemOf<value>>]
      : name extends 'number'
        ? 'number' | 'positive'
        : name

type NameOf<value> = value extends string
  ? 'string'
  : value extends number
    ? 'number'
    : value extends boolean
      ? 'boolean'
      : value extends (...values: never[]) => infer result
        ? FunctionName<result>
        : value extends readonly unknown[]
          ? 'list'
          : value extends object
            ? 'object'
            : never

/** A caller that does not wait would take the promise of an async function for its result. */
type FunctionName<result> = [result] extends [string | number | boolean | object | undefined]
  ? [Extract<result, PromiseLike<unknown>>] extends [never]
    ? 'sync function'
    : 'function'
  : 'function'

type OnlyOne<name, all = name> = name extends unknown ? ([all] extends [name] ? name : never) : never
type ItemOf<list> = list extends readonly (infer item)[] ? item : never

type AnyShape = true | ValueKind | readonly [AnyShape] | Shape
interface Shape {
  readonly [key: string]: AnyShape
}

/**
 * The mistakes of an object: keys that its shape lacks, each with the nearest known keys or else
 * all of them, and values of another type: `there is no option "method"; the nearest is "methods"`.
 * Node runs TypeScript without a check of types, so a mistyped key would have no effect. An object
 * of a class may have keys of its own. A key that is `undefined` is a missing one.
 */
export function findShapeMistakes<type>(
  noun: string,
  value: object,
  shape: ShapeOf<type>,
  prefix = '',
): readonly string[] {
  const known = shape as Shape
  let mistakes: string[] | undefined
  for (const key in value) {
    const wanted = known[key]
    if (wanted === true) continue
    const found: unknown = (value as Readonly<Record<string, unknown>>)[key]
    if (found === undefined ? wanted !== undefined : typeof found === wanted && fits(found)) continue
    // A library may have added enumerable properties to all objects.
    if (wanted === undefined && !(isPlainObject(value) && Object.hasOwn(value, key))) continue
    mistakes ??= []
    if (wanted !== undefined) mistakes.push(...findValueMistakes(noun, found, wanted, prefix + key))
    else mistakes.push(`there is no ${noun} "${prefix}${key}"${describeKeys(key, Object.keys(shape))}`)
  }
  return mistakes ?? none
}

const none: readonly string[] = []

function describeKeys(mistyped: string, known: readonly string[]): string {
  // Of a route or a group.
  if (mistyped.startsWith('_') && known.includes('defaults')) return `: write it in "defaults"`
  return suggestNames(mistyped, known) || `: use ${known.join(', ')}`
}

/** Whether a value of the type that `typeof` names can be used as such. */
function fits(value: unknown): boolean {
  if (typeof value === 'function') return !isClass(value)
  return typeof value === 'object' ? isKeyed(value) : !Number.isNaN(value)
}

function findValueMistakes(noun: string, value: unknown, shape: AnyShape, place: string): readonly string[] {
  const found = shape === 'positive' && isNumber(value) ? String(value) : describeValue(value)
  const refuse = (wanted: string) => [`"${place}" must be ${wanted}, not ${found}${adviseOnNumber(value, shape)}`]
  if (shape === true) return none
  if (typeof shape === 'string') return kinds[shape][0](value) ? none : refuse(kinds[shape][1])
  if (isList(shape)) {
    if (!Array.isArray(value)) return refuse('a list')
    return value.flatMap((item, index) => findValueMistakes(noun, item, shape[0], `${place}[${index}]`))
  }
  if (!isKeyed(value)) return refuse(`an object with ${Object.keys(shape).join(', ')}`)
  return findShapeMistakes(noun, value, shape as ShapeOf<object>, `${place}.`)
}

/** How the text of a number is written as a number; a size, such as `10mb`, in bytes. */
function adviseOnNumber(value: unknown, shape: AnyShape): string {
  if ((shape !== 'number' && shape !== 'positive') || typeof value !== 'string') return ''
  const [, number, power = ''] = /^\s*(\d[\d_]*)\s*(?:([kmg]?)i?b(?:ytes?)?)?\s*$/i.exec(value) ?? []
  if (number === undefined) return ''
  return `: write ${number}${{ k: 'e3', m: 'e6', g: 'e9' }[power.toLowerCase()] ?? ''}${/b/i.test(value) ? ', in bytes' : ''}`
}

function isList(shape: Shape | readonly [AnyShape]): shape is readonly [AnyShape] {
  return Array.isArray(shape)
}

const isNumber = (value: unknown) => typeof value === 'number' && !Number.isNaN(value)
const isCallable = (value: unknown) => typeof value === 'function' && !isClass(value)

/** The kinds of values that options and arguments have: their tests, and their words in messages. */
export const kinds = {
  any: [() => true, 'any value'],
  string: [value => typeof value === 'string', 'a string'],
  pattern: [value => typeof value === 'string' || value instanceof RegExp, 'a string or a pattern'],
  number: [isNumber, 'a number'],
  positive: [value => isNumber(value) && Number(value) > 0, 'a number above 0'],
  boolean: [value => typeof value === 'boolean', 'true or false'],
  function: [isCallable, 'a function'],
  'sync function': [value => isCallable(value) && !isAsync(value), 'a function without async'],
  list: [Array.isArray, 'a list'],
  object: [isKeyed, 'an object with keys'],
} as const satisfies Readonly<Record<string, readonly [isRight: (value: unknown) => boolean, words: string]>>

/** The name of a kind of values. */
export type ValueKind = keyof typeof kinds

/**
 * The names that are most similar to a mistyped one: at most three, the most similar first. `limit` is in characters.
 * A similar name of a few letters is often another one.
 */
export function nearestNames(
  mistyped: string,
  names: Iterable<string>,
  limit: number = mistyped.length < 5 ? 1 : Math.max(2, mistyped.length / 3),
): string[] {
  return [...names]
    .filter(name => Math.abs(name.length - mistyped.length) <= limit)
    .map(name => ({ name, distance: editDistance(mistyped, name) }))
    .filter(({ distance }) => distance <= limit)
    .sort((one, other) => one.distance - other.distance)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** The end of a message about an unknown name: `; the nearest are "…", "…"`. Empty without similar names. */
export function suggestNames(mistyped: string, names: Iterable<string>): string {
  return quoteNearest(nearestNames(mistyped, names))
}

/** The end of a message with names: `; the nearest are "…", "…"`. Empty without names. */
export function quoteNearest(names: readonly string[]): string {
  if (names.length === 0) return ''
  return `; the nearest ${names.length > 1 ? 'are' : 'is'} ${names.map(name => `"${name}"`).join(', ')}`
}

/**
 * The number of mistakes between two texts: a character to add, to remove or to change, or two
 * neighbours in the wrong order (optimal string alignment).
 */
function editDistance(from: string, to: string): number {
  let earlier: readonly number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let line = 1; line <= from.length; line++) {
    const next = [line]
    for (let column = 1; column <= to.length; column++) {
      const changed = (row[column - 1] ?? 0) + (to[column - 1] === from[line - 1] ? 0 : 1)
      const isSwapped = to[column - 1] === from[line - 2] && to[column - 2] === from[line - 1]
      const swapped = isSwapped ? (earlier[column - 2] ?? 0) + 1 : changed
      next.push(Math.min(changed, swapped, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    earlier = row
    row = next
  }
  return row.at(-1) ?? 0
}

/** A variable with a word behind it, which may be meant as a part of the name. */
interface SplitName {
  /** The variable: `user` of `:user-id`. */
  readonly name: string
  /** The text behind it: `-id`. */
  readonly text: string
  /** The names that may be meant: `userId`, `user_id` and `user-id`. */
  readonly meant: readonly string[]
}

/** The variables of a source that have words behind them, but no other variable: not those of `/:from-:to`. */
export function listSplitNames(source: string): SplitName[] {
  return Array.from(source.matchAll(splitName), ([, name = '', text = '']) => {
    const camel = text.replace(/[-.](\w)/g, (_, first: string) => first.toUpperCase())
    return { name, text, meant: [name + camel, name + text.replace(/[-.]/g, '_'), name + text] }
  })
}

const splitName = /(?<!\\)[:*]([A-Za-z_$][\w$]*)((?:[-.][A-Za-z]\w*)+)(?![-\w.]*[:*])/g

/** The end of a message about a name that a pattern has not, if it may be meant by `:user-id`; else empty. */
export function explainSplitName(sources: readonly (string | undefined)[], used: string): string {
  const found = sources.flatMap(source => listSplitNames(source ?? '')).find(({ meant }) => meant.includes(used))
  return found === undefined ? '' : `: ${describeSplitName(found)}`
}

/** Both readings of `:user-id`, and the two ways to write a name. */
export function describeSplitName({ meant: [camel, , written], name, text }: SplitName): string {
  return `":${written}" is the variable "${name}" with the text "${text}" behind it; for one name write :${camel} or :"${written}"`
}
