import * as v from 'valibot'
import type { ValueTree } from '../../../lib/redact/value-tree.ts'
import { isAmount, isCount, isNumber, isObject, type JsonObject } from './json.ts'

/**
 * The schema of a part of a stored profile. A field that does not fit has a fallback, so that damage of one field costs
 * that field only. Fields that the schema does not name are dropped.
 */
export type Schema<Data> = v.GenericSchema<unknown, Data>

/** Names and values in their order. A name may occur more than once. */
export type Pairs = readonly (readonly [name: string, value: unknown])[]

/** Strict checks, for fields without which their item makes no sense. */
export const check: {
  readonly text: Schema<string>
  readonly number: Schema<number>
  readonly amount: Schema<number>
  readonly count: Schema<number>
  readonly object: Schema<JsonObject>
} = {
  text: v.string(),
  number: v.custom<number>(isNumber),
  amount: v.custom<number>(isAmount),
  count: v.custom<number>(isCount),
  object: v.custom<JsonObject>(isObject),
}

/** A text; empty where it is damaged. */
export const text: Schema<string> = v.fallback(v.string(), '')

/** A number; 0 where it is damaged. */
export const number: Schema<number> = v.fallback(v.custom<number>(isNumber), 0)

/** A number that is not negative, such as a duration; 0 where it is damaged. */
export const amount: Schema<number> = v.fallback(v.custom<number>(isAmount), 0)

/** A whole number that is not negative: a count, a line, bytes; 0 where it is damaged. */
export const count: Schema<number> = v.fallback(v.custom<number>(isCount), 0)

/** A boolean; false where it is damaged. */
export const flag: Schema<boolean> = v.fallback(v.boolean(), false)

/** An amount, or `null` when it is not known; `null` where it is damaged. */
export const amountOrNull: Schema<number | null> = v.fallback(v.nullable(v.custom<number>(isAmount)), null)

/** A list of texts, without those that are damaged. */
export const texts: Schema<readonly string[]> = list(v.string())

/** Texts by their names. */
export const textsByName: Schema<Readonly<Record<string, string>>> = v.fallback(v.record(v.string(), text), {})
/** Numbers that are not negative, by their names. */
export const amountsByName: Schema<Readonly<Record<string, number>>> = v.fallback(v.record(v.string(), amount), {})

/** Names and values, without the pairs that are damaged. */
export const pairs: Schema<Pairs> = list(v.custom<Pairs[number]>(isPair))

const excerptSchema = v.object({
  file: text,
  line: count,
  /** The number of the first of the `lines`. */
  start: count,
  lines: texts,
})

/** A line of a source, with the lines around it. */
export type Excerpt = Readonly<v.InferOutput<typeof excerptSchema>>

/** Excerpts of sources. */
export const excerpts: Schema<readonly Excerpt[]> = list(excerptSchema)

function isPair(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === 'string'
}

/** A field that may be missing, and is missing where it is damaged. */
export function maybe<Data>(schema: Schema<Data>): v.OptionalSchema<Schema<Data>, undefined> {
  return v.fallback(v.optional(schema), undefined)
}

/** One of several texts; the first one where it is damaged. */
export function oneOf<const Option extends string>(options: readonly [Option, ...Option[]]): Schema<Option> {
  return v.fallback(v.picklist(options), options[0])
}

/** A list without the items that are damaged; empty where the list itself is. */
export function list<Data>(item: Schema<Data>): Schema<readonly Data[]> {
  const fitting = (values: unknown[]) => {
    const items: Data[] = []
    for (const value of values) {
      const parsed = v.safeParse(item, value)
      if (parsed.success) items.push(parsed.output)
    }
    return items
  }
  return v.fallback(v.pipe(v.array(v.unknown()), v.transform(fitting)), [])
}

/** A list whose items refer to one another by their position: an item that is damaged is replaced. */
export function indexedList<Data>(item: Schema<Data>, replacement: Data): Schema<readonly Data[]> {
  const items = v.array(v.fallback(item, () => replacement))
  return v.fallback(items, [])
}

/** Fields that belong together; all of them have their fallback where the whole is damaged. */
export function section<Entries extends v.ObjectEntries>(entries: Entries): v.ObjectSchema<Entries, undefined> {
  const schema = v.object(entries)
  return v.fallback(schema, () => v.parse(schema, {}))
}

/**
 * Work of one kind over the limit of what is recorded in detail: its numbers are of all of it.
 * Times are in milliseconds.
 */
export type MoreWorkData = v.InferOutput<typeof moreWorkSchema>

export const moreWorkSchema = v.object({
  /** How much of it has ended. */
  ended: count,
  failed: count,
  longest: amount,
  /** The sum of its durations. */
  total: amount,
  /** Starts, since that of the request, and durations: the times in which at least one piece of it was not over. */
  periods: list(v.tuple([check.amount, check.amount])),
})

/**
 * The schema of a tree. Trees are at most as deep as their writer made them, and a profile has its own limit of depth.
 */
export const treeSchema: Schema<ValueTree> = v.object({
  /** `text`: a string. `value`: a number, a boolean, a date. `object`: an object. `note`: a value that is not shown. */
  kind: oneOf(['note', 'text', 'value', 'object']),
  /** A string as it is; of an object its class, and the size of a collection: `Map(2)`. */
  text: check.text,
  /** The properties or items of an object. */
  entries: maybe(list(v.object({ name: check.text, value: v.lazy(() => treeSchema) }))),
  /** How many further entries were left out. */
  omitted: maybe(check.count),
})
