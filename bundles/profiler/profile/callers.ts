import type { CallerPlace } from '../../../lib/stack/callers.ts'
import { isHelperCall } from '../../../lib/stack/helpers.ts'
import type { CodePlace } from '../../../lib/stack/stack-frames.ts'
import { formatPlace } from './format.ts'
import { isObject, type JsonObject } from './json.ts'

/**
 * Writes the place of a caller in words: `shop/list.ts:12`, `list:223 via q:219`, or `in list:12`;
 * empty if it is not known.
 */
export function formatCaller(caller: CallerPlace): string {
  const { isIn, via = [] } = caller
  if (isIn) return `in ${nameFrame(caller)}`
  return via.length === 0 ? formatPlace(caller) : `${nameFrame(caller)} via ${via.map(nameFrame).join(', ')}`
}

/** Names a frame by its function and line: `list:223`; without a function by its file. */
export function nameFrame({ file = '', function: name, line }: CodePlace): string {
  // An inline controller has a name of two words.
  const short = name?.replace(/ \[as .*\]$/, '').replace(/^controller /, '')
  return formatPlace({ file: short || file.replace(/^.*[\\/]/, ''), line })
}

/** The name of the template in which a frame lies; `undefined` for a frame of code. */
export function templateOf(call: string): string | undefined {
  return /^template (.+)/s.exec(call)?.[1]
}

/** The lists with callers in the data of collectors, and the field of the caller. */
const lists: readonly (readonly [collector: string, list: string, field: string])[] = [
  ['queries', 'statements', 'caller'],
  ['http', 'calls', 'caller'],
  ['logger', 'records', 'site'],
  ['mails', 'mails', 'caller'],
  ['time', 'asyncCalls', 'caller'],
]

/**
 * Packs the callers of collected data for the store: each frame stands once among the `places` of
 * its collector, and a caller is the list of the indices of its frames, the nearest first. A
 * caller that is no frame of a stack stays as it is.
 */
export function packCallers(data: JsonObject): JsonObject {
  let packed = data
  for (const [collector, list, field] of lists) {
    if (data[collector] === undefined) continue
    const places = new PlaceTable()
    const items = mapCallers(data[collector], list, field, caller =>
      !isObject(caller) || caller.isIn ? caller : places.pack(caller),
    )
    if (places.all.length === 0) continue
    packed = { ...packed, [collector]: { ...Object(data[collector]), [list]: items, places: places.all } }
  }
  return packed
}

/**
 * Reverts {@link packCallers}. The callers of earlier versions are not packed: they have one frame, and stay as they
 * are. In a profile that this process has recorded, at the time `recorded`, places call helpers that were found since.
 */
export function unpackCallers(data: JsonObject, recorded: number): JsonObject {
  const unpacked: Record<string, unknown> = { ...data }
  for (const [collector, list, field] of lists) {
    const { places: stored, ...rest } = Object(data[collector])
    if (!Array.isArray(stored)) continue
    const places = stored.map(place =>
      isHelperCall(Object(place), recorded) ? { ...place, callsHelper: true } : place,
    )
    const items = mapCallers(rest, list, field, caller => (Array.isArray(caller) ? unpack(caller, places) : caller))
    unpacked[collector] = { ...rest, [list]: items }
  }
  return unpacked
}

/** Replaces the callers of the items of a list. A value that is no list is returned unchanged. */
function mapCallers(data: unknown, list: string, field: string, change: (caller: unknown) => unknown): unknown {
  const items = isObject(data) ? data[list] : undefined
  if (!Array.isArray(items)) return items
  return items.map(item =>
    isObject(item) && item[field] !== undefined ? { ...item, [field]: change(item[field]) } : item,
  )
}

class PlaceTable {
  readonly all: unknown[] = []
  readonly #indices = new Map<string, number>()
  readonly #packed = new Map<object, number[]>()

  /** The same frames mostly have the same object. */
  pack(caller: JsonObject): number[] {
    const known = this.#packed.get(caller)
    if (known !== undefined) return known
    const { callers = [], ...nearest } = caller
    const packed = [nearest, ...(Array.isArray(callers) ? callers : [])].map(place => this.#add(place))
    this.#packed.set(caller, packed)
    return packed
  }

  #add(place: unknown): number {
    const { column, file, function: name, line } = Object(place)
    const key = `${file}:${line}:${column} ${name}`
    let index = this.#indices.get(key)
    if (index === undefined) {
      index = this.all.push(place) - 1
      this.#indices.set(key, index)
    }
    return index
  }
}

function unpack(indices: readonly unknown[], places: readonly unknown[]): JsonObject {
  const [nearest, ...callers] = indices.map(index => places[Number(index)]).filter(isObject)
  return { ...nearest, ...(callers.length > 0 && { callers }) }
}
