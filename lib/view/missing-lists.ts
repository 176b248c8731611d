import path from 'node:path'
import type { Request } from '../http/request.ts'
import { nearestNames, quoteNearest } from '../text/mistakes.ts'
import { describeUnread, type HelperLocation, valueAt } from './failed-place.ts'
import { readNodes } from './template-uses.ts'

/**
 * The value of a block such as `{{#each}}` or `{{#if}}`, which its data has under another name, or at another place.
 */
export interface MissingList {
  /** `{{#each books}}` or `{{#if books}}` */
  readonly call: string
  /** The file and the line: `templates/shop/list.hbs:3`. */
  readonly place: string
  readonly mistake: string
  /** The request of the page, if it was passed to `render`. */
  readonly request: Request | undefined
}

/** What Handlebars passes to the helper of a block. */
interface BlockOptions {
  readonly name: string
  readonly loc: HelperLocation
  readonly data: { readonly root: object; readonly request: Request | undefined; readonly pending: object }
}

/** Called for each block of `each`, `if`, `unless` or `with` whose value is `undefined`, with its data. */
export type ListCheck = (data: unknown, options: BlockOptions) => void

/**
 * Creates the check of the lists and conditions of one view. It reports the call once for each
 * render of a page. A value may be optional, so one without a similar name in the data is not
 * reported. `directory` is the one to which names of files are relative.
 */
export function createListCheck(directory: string, report: (missing: MissingList) => void): ListCheck {
  const lists = new Map<string, readonly string[]>()
  const reported = new WeakMap<object, Set<string>>()
  return (context, { data: { pending, request, root }, loc: { start }, name }) => {
    const call = `${start.line}:${start.column}`
    const known = reported.get(pending) ?? new Set()
    reported.set(pending, known)
    if (known.has(call)) return
    known.add(call)
    const keys = lists.get(call) ?? findKeys(directory, start)
    lists.set(call, keys)
    const [key] = keys.slice(-1)
    const parent = valueAt(Object(context), keys.slice(0, -1))
    if (key === undefined || typeof parent !== 'object' || parent === null || Object.hasOwn(parent, key)) return
    const mistake = name === 'each' ? findMistake(parent, key, keys.length === 1 ? root : {}) : findSlip(parent, key)
    if (mistake === undefined) return
    report({ call: `{{#${name} ${keys.join('.')}}}`, place: start.line.replace(': line ', ':'), mistake, request })
  }
}

function findMistake(parent: object, key: string, root: object): string | undefined {
  if (key in parent) return describeUnread(parent, key)
  if (Object.hasOwn(root, key)) return `its item has no "${key}", but the page has: {{#each @root.${key}}}`
  // A similar name of a few letters is often another one.
  return describeNearest(key, nearestNames(key, Object.keys(parent), Math.max(1, key.length / 3)))
}

/**
 * A condition is mostly an optional value, whose data may have a similar name: `error` and `errors`.
 * So only the same letters in another order are a mistake, and a getter, which no template reads.
 */
function findSlip(parent: object, key: string): string | undefined {
  if (key in parent && !(key in Object.prototype)) return describeUnread(parent, key)
  const names = Object.keys(parent).filter(name => sortLetters(name) === sortLetters(key))
  return key.length < 5 ? undefined : describeNearest(key, nearestNames(key, names, 1))
}

function sortLetters(name: string): string {
  return [...name].sort().join('')
}

function describeNearest(key: string, nearest: readonly string[]): string | undefined {
  return nearest.length === 0 ? undefined : `"${key}" is not defined${quoteNearest(nearest)}`
}

/** The keys of the value of a block; none for a value of a helper, of another level (`../books`) or a global. */
function findKeys(directory: string, { column, line }: HelperLocation['start']): readonly string[] {
  const [, file = '', number] = /^(.*): line (\d+)$/s.exec(line) ?? []
  const each = readNodes(path.resolve(directory, file)).find(
    ({ loc, type }) => type === 'BlockStatement' && loc?.start.line === Number(number) && loc.start.column === column,
  )
  const { data, depth, parts = [] } = each?.params?.[0] ?? {}
  return data === true || depth !== 0 ? [] : parts
}
