/** What JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** Where something stands, such as `summary.url` and `headers.*.1`; in braces, the key that stands there. */
export type Place = string

/** Says what is to become of the texts, numbers and keys of a tree; `undefined` leaves one as it is. */
export type Change = (value: string | number, place: Place) => string | undefined

/** Copies a tree with other texts, numbers and keys. */
export function changeTree(tree: Json, change: Change): Json {
  return copy(tree, '', false, change)
}

/** What stands where in a tree: each place once, as those of all items of a list are one, except in rows. */
export function listPlaces(tree: Json): Map<Place, 'text' | 'number' | 'key'> {
  const places = new Map<Place, 'text' | 'number' | 'key'>()
  changeTree(tree, (value, place) => {
    places.set(place, place.startsWith('{') ? 'key' : typeof value === 'string' ? 'text' : 'number')
    return undefined
  })
  return places
}

/** One tree with all that two have: of two texts the first, of two lists the longer one. */
export function mergeTrees(first: Json, second: Json): Json {
  if (isList(first) && isList(second)) return second.length > first.length ? second : first
  if (!isObject(first) || !isObject(second)) return first
  const merged: Record<string, Json> = { ...first }
  for (const [key, value] of Object.entries(second)) {
    const own = merged[key]
    merged[key] = own === undefined ? value : mergeTrees(own, value)
  }
  return merged
}

function copy(tree: Json, place: Place, isItem: boolean, change: Change): Json {
  if (typeof tree === 'string' || typeof tree === 'number') return change(tree, place) ?? tree
  // Rows are lists within lists: there each position has a meaning.
  if (isList(tree)) {
    return tree.map((item, index) => copy(item, `${place}.${isItem ? index : '*'}`, true, change))
  }
  if (!isObject(tree)) return tree
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]) => {
      const inner = place === '' ? key : `${place}.${key}`
      return [change(key, `{${inner}}`) ?? key, copy(value, inner, false, change)]
    }),
  )
}

function isList(tree: Json): tree is readonly Json[] {
  return Array.isArray(tree)
}

function isObject(tree: Json): tree is { readonly [key: string]: Json } {
  return typeof tree === 'object' && tree !== null && !isList(tree)
}
