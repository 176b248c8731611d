import { isDeepStrictEqual } from 'node:util'
import type { ContentData } from '../../profile/content.ts'
import { formatText } from '../../profile/format.ts'
import { isObject } from '../../profile/json.ts'

/** Whether a value is equal in both profiles, different, or in one of them only. */
export type DifferenceKind = 'same' | 'changed' | 'onlyFirst' | 'onlySecond'

/** A value that is in at least one of two profiles. */
export interface Compared<value> {
  readonly key: string
  readonly first: value | undefined
  readonly second: value | undefined
  readonly change: DifferenceKind
}

/**
 * Compares two maps by key. A key is sorted by its lower position in the two maps, so the order is the same if the maps
 * are exchanged.
 */
export function compareMaps<value>(
  first: ReadonlyMap<string, value>,
  second: ReadonlyMap<string, value>,
  isSame: (first: value, second: value) => boolean = isDeepStrictEqual,
): Compared<value>[] {
  const positions = new Map<string, number>()
  for (const keys of [first.keys(), second.keys()]) {
    for (const [position, key] of [...keys].entries()) {
      positions.set(key, Math.min(position, positions.get(key) ?? position))
    }
  }
  const keys = [...positions].sort(([a, one], [b, other]) => one - other || (a < b ? -1 : 1))
  return keys.map(([key]) => {
    const [one, other] = [first.get(key), second.get(key)]
    return { key, first: one, second: other, change: changeOf(one, other, isSame) }
  })
}

function changeOf<value>(
  first: value | undefined,
  second: value | undefined,
  isSame: (first: value, second: value) => boolean,
): DifferenceKind {
  if (second === undefined) return 'onlyFirst'
  if (first === undefined) return 'onlySecond'
  return isSame(first, second) ? 'same' : 'changed'
}

/** The most differences of two contents that are listed. */
const differenceLimit = 100

/** The most values of JSON that are compared. */
const valueLimit = 5000

/** Cells of the table in which a common sequence of lines is found: two bytes each. */
const cellLimit = 4_000_000

/**
 * Finds the differences of two contents, at most 100: of JSON by the paths of its values (`$.items[0].name`),
 * of forms by fields, of other text by lines. None without two contents that are stored.
 */
export function compareContents(
  first: ContentData | undefined,
  second: ContentData | undefined,
): readonly Compared<string>[] {
  if (!isStored(first) || !isStored(second)) return []
  const [one, other] = [readValues(first), readValues(second)]
  if (one !== undefined && other !== undefined) return compareValues(one, other)
  const unit = [first, second].some(isMarkup) ? 'element' : 'line'
  return compareLines(toLines(first), toLines(second), unit)
}

/** Whether the content itself is stored. Otherwise there is only its digest or a note, as for a picture. */
function isStored(content: ContentData | undefined): content is ContentData {
  return [content?.form, content?.json, content?.text].some(part => part !== undefined)
}

/** The values of JSON by their paths, or of a form by its fields; `undefined` of other content. */
export function readValues({ form, json }: ContentData): Map<string, string> | undefined {
  if (form === undefined && json === undefined) return undefined
  const values = new Map<string, string>()
  if (json !== undefined) addValues(values, '$', json[0])
  for (const [name, value] of form ?? []) {
    const known = values.get(name)
    values.set(name, known === undefined ? formatText(value) : `${known}\n${formatText(value)}`)
  }
  return values
}

function addValues(values: Map<string, string>, path: string, value: unknown): void {
  if (values.size >= valueLimit) return
  if (Array.isArray(value) && value.length > 0) {
    for (const [index, item] of value.entries()) addValues(values, `${path}[${index}]`, item)
  } else if (isObject(value) && Object.keys(value).length > 0) {
    for (const [name, item] of Object.entries(value)) {
      addValues(values, /^[\w$-]+$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`, item)
    }
  } else values.set(path, String(JSON.stringify(value)))
}

function compareValues(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): Compared<string>[] {
  const differences: Compared<string>[] = []
  for (const key of new Set([...one.keys(), ...other.keys()])) {
    const [first, second] = [one.get(key), other.get(key)]
    if (first === second) continue
    if (differences.length === differenceLimit) break
    differences.push(toDifference(key, first, second))
  }
  return differences
}

function toDifference(key: string, first: string | undefined, second: string | undefined): Compared<string> {
  const change = first === undefined ? 'onlySecond' : second === undefined ? 'onlyFirst' : 'changed'
  return { key, first, second, change }
}

function isMarkup({ type }: Pick<ContentData, 'type'>): boolean {
  return type.includes('ml')
}

/** The elements of markup are on lines of their own. Nonces are new in each response. */
function toLines({ form, json, text = '', type }: ContentData): string[] {
  if (json !== undefined) return String(JSON.stringify(json[0], undefined, 2)).split('\n')
  if (form !== undefined) return form.map(([name, value]) => `${name}=${formatText(value)}`)
  if (!isMarkup({ type })) return text.split('\n')
  return text
    .replaceAll('><', '>\n<')
    .replace(/(?<=\snonce=)(?:"[^"]*"|'[^']*')/g, '"…"')
    .split('\n')
}

/** Finds the hunks of two texts. The key of a hunk is the number of its first line, in the second text. */
function compareLines(one: readonly string[], other: readonly string[], unit: string): Compared<string>[] {
  let start = 0
  while (start < one.length && start < other.length && one[start] === other[start]) start++
  let tail = 0
  const shorter = Math.min(one.length, other.length) - start
  while (tail < shorter && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++
  const [before, after] = [one.slice(start, one.length - tail), other.slice(start, other.length - tail)]
  const differences: Compared<string>[] = []
  for (const hunk of findHunks(before, after)) {
    if (differences.length === differenceLimit) break
    const number = (hunk.second.length === 0 ? hunk.atFirst : hunk.atSecond) + start + 1
    const [first, second] = [hunk.first, hunk.second].map(lines => (lines.length === 0 ? undefined : lines.join('\n')))
    differences.push(toDifference(`${unit} ${number}`, first, second))
  }
  return differences
}

/** Yields the lines between the lines of a longest common subsequence. Texts that are too long are one hunk. */
function* findHunks(one: readonly string[], other: readonly string[]) {
  const common = one.length * other.length > cellLimit ? [] : findCommon(one, other)
  let [atFirst, atSecond] = [0, 0]
  for (const [endFirst, endSecond] of [...common, [one.length, other.length] as const]) {
    if (endFirst > atFirst || endSecond > atSecond) {
      yield { atFirst, atSecond, first: one.slice(atFirst, endFirst), second: other.slice(atSecond, endSecond) }
    }
    atFirst = endFirst + 1
    atSecond = endSecond + 1
  }
}

/** The positions of the lines of a longest common subsequence. */
function findCommon(one: readonly string[], other: readonly string[]): [number, number][] {
  const width = other.length + 1
  const lengths = new Uint16Array((one.length + 1) * width)
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0
  for (let row = one.length - 1; row >= 0; row--) {
    for (let column = other.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        one[row] === other[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const common: [number, number][] = []
  for (let row = 0, column = 0; row < one.length && column < other.length; ) {
    if (one[row] === other[column]) common.push([row++, column++])
    else if (at(row + 1, column) >= at(row, column + 1)) row++
    else column++
  }
  return common
}
