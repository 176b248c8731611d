import * as v from 'valibot'
import { amount, check, count, indexedList, maybe, number, text, texts } from '../../profile/schema.ts'

/** A render of one template. Times are in milliseconds, its start from that of the request. */
const render = v.object({
  name: text,
  /** The index of the render that this is a partial of; -1 of a page. */
  parent: v.fallback(check.number, -1),
  /** Milliseconds since the start of the request. */
  start: number,
  /** With its partials. */
  duration: amount,
  /** Of a page: names in its model, at most 20. */
  keys: maybe(texts),
  /** Whether it threw, or a partial within it. */
  hasFailed: maybe(v.literal(true)),
})

/** The templates that were rendered. */
export const templatesSchema = v.object({
  /** In the order in which they began. */
  renders: indexedList(render, { name: '', parent: -1, start: 0, duration: 0 }),
  /** How many were only counted because there were too many. */
  omitted: count,
  /** Milliseconds that pages waited for sub-requests and globals. */
  waited: amount,
})
