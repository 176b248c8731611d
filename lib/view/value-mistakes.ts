import path from 'node:path'
import type { Request } from '../http/request.ts'
import { describeValue } from '../text/describe-value.ts'
import { nearestNames, quoteNearest } from '../text/mistakes.ts'
import { describeUnread, valueAt } from './failed-place.ts'
import type { HelperLocation } from './handlebars.ts'
import { findFormMethods } from './syntax-mistakes.ts'
import { type Node, readNodes } from './template-uses.ts'

/**
 * A value that a page does not show as it is meant: of a block such as `{{#each}}` or `{{#if}}`, which its data has
 * under another name, or at another place; or an object.
 */
export interface ValueMistake {
  /** `{{#each books}}` or `{{user}}` */
  readonly call: string
  /** The file and the line: `templates/shop/list.hbs:3`. */
  readonly place: string
  /** The end of a sentence that begins with the call and its place. */
  readonly mistake: string
  /** The request of the page, if it was passed to `render`. */
  readonly request: Request | undefined
}

type Explained = Pick<ValueMistake, 'call' | 'mistake'> | undefined

interface PageData {
  readonly root: object
  readonly request: Request | undefined
  readonly pending: object
}

/** What Handlebars passes to a helper. */
interface CallOptions {
  readonly name: string
  readonly loc: HelperLocation
  readonly data: PageData
}

/** Checks the values of a page while it is rendered. */
export interface ValueCheck {
  /** Called for each block of `each`, `if`, `unless` or `with`, with its data and its value. */
  checkBlock(data: unknown, value: unknown, options: CallOptions): void
  /** Called for a helper without arguments, with the data at its place. */
  checkCall(data: unknown, options: CallOptions): void
  /** Called for a helper with a missing argument, with the data at its place and all arguments. */
  checkArguments(data: unknown, values: readonly unknown[], options: CallOptions): void
  /** Called for each template that is read; `file` is its name in messages. */
  checkSource(source: string, file: string): void
  /** Called for each value that is written; returns it. */
  checkText(value: unknown, data: PageData, line: string, column: number): unknown
}

/**
 * Creates the check of the values of one view. It reports a place once for each render of a page. A value
 * may be optional, so a missing one without a similar name in the data is not reported. `directory` is the
 * one to which names of files are relative; `globals` are the names of all globals.
 */
export function createValueCheck(
  directory: string,
  report: (mistake: ValueMistake) => void,
  globals: readonly string[] = [],
): ValueCheck {
  const nodes = new Map<string, Node | undefined>()
  const reported = new WeakMap<object, Set<string>>()
  /** The places with a missing value that has the name of a global: it may be optional, so each is named once. */
  const doubted = new Set<string>()
  const doubt = ({ column, line }: HelperLocation['start'], call: string, right: string): Explained => {
    const place = `${line}:${column}`
    if (doubted.has(place)) return undefined
    doubted.add(place)
    return { call, mistake: `has no value: if the global is meant, write ${right}` }
  }
  /** Calls the function with the node at a place, but once for each render. */
  const explain = (
    { pending, request }: PageData,
    { column, line }: HelperLocation['start'],
    find: (node: Node) => Explained,
  ) => {
    const key = `${line}:${column}`
    const known = reported.get(pending) ?? new Set()
    reported.set(pending, known)
    if (known.has(key)) return
    known.add(key)
    if (!nodes.has(key)) nodes.set(key, findNode(directory, { column, line }))
    const node = nodes.get(key)
    const found = node && find(node)
    if (found !== undefined) report({ ...found, place: line.replace(': line ', ':'), request })
  }
  return {
    checkBlock(context, value, { data, loc: { start }, name }) {
      const kind = name === 'each' ? describeNoList(value) : undefined
      if (value !== undefined && kind === undefined) return
      explain(data, start, (node): Explained => {
        if (kind !== undefined)
          return { call: `{{#each ${describeNode(node.params?.[0])}}}`, mistake: `shows no item: its value is ${kind}` }
        const keys = findKeys(node)
        const [key] = keys.slice(-1)
        const parent = valueAt(Object(context), keys.slice(0, -1))
        if (key === undefined || typeof parent !== 'object' || parent === null || Object.hasOwn(parent, key)) return
        if (keys.length === 1 && globals.includes(key))
          return doubt(start, `{{#${name} ${key}}}`, `{{#${name} @${key}}}`)
        const mistake =
          name === 'each' ? findMistake(parent, key, keys.length === 1 ? data.root : {}) : findSlip(parent, key)
        if (mistake === undefined) return
        return { call: `{{#${name} ${keys.join('.')}}}`, mistake: `has no value: ${mistake}` }
      })
    },
    checkCall(context, { data, loc: { start }, name }) {
      if (typeof context !== 'object' || context === null || !Object.hasOwn(context, name)) return
      const mistake = `calls the helper "${name}"; the value of the page is {{this.${name}}}`
      explain(data, start, () => ({ call: `{{${name}}}`, mistake }))
    },
    checkArguments(context, values, { data, loc: { start }, name }) {
      if (globals.length === 0) return
      explain(data, start, ({ params = [] }): Explained => {
        const keys = params.flatMap((param, index) =>
          values[index] === undefined ? findKeys({ params: [param] }) : [],
        )
        const key = keys.find(each => globals.includes(each) && !Object.hasOwn(Object(context), each))
        return key === undefined ? undefined : doubt(start, `{{${name} … ${key}}}`, `@${key}`)
      })
    },
    checkSource(source, file) {
      for (const { line, method } of findFormMethods(source)) {
        const mistake = 'is sent by GET: a form of HTML has get or post'
        report({ call: `<form method="${method}">`, place: `${file}:${line}`, mistake, request: undefined })
      }
    },
    checkText(value, data, line, column) {
      if (typeof value !== 'object' && typeof value !== 'function') return value
      const mistake = describeUnwritable(value)
      if (mistake === undefined) return value
      explain(data, { column, line }, ({ params = [], path }) => {
        const name = path?.original === '.' ? 'this' : String(path?.original)
        const call = `${name}${params.length > 0 ? ' …' : ''}`
        const [key] = value === null || Array.isArray(value) ? [] : findTexts(value)
        const advice =
          key === undefined || params.length > 0 ? '' : `: write one of its values, such as {{${call}.${key}}}`
        return { call: `{{${call}}}`, mistake: `writes ${mistake}${advice}` }
      })
      return value
    },
  }
}

function describeNode({ original, path, type }: Partial<Node> = {}): string {
  return type === 'SubExpression' ? `(${path?.original} …)` : String(original)
}

/** The value of an `{{#each}}` that shows nothing, although it is not empty. */
function describeNoList(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null)
    return Symbol.asyncIterator in value ? 'asynchronous: collect its items before render()' : undefined
  const isNothing = !value || typeof value === 'function'
  return isNothing ? undefined : describeValue(value)
}

/** What a page shows as `[object Object]` or as the source of a function. */
function describeUnwritable(value: object | null): string | undefined {
  if (value instanceof Promise) return 'a promise: await it before render()'
  if (typeof value === 'function') return describeValue(value)
  if (Array.isArray(value)) {
    const item = value.find(each => typeof each === 'object' && isUnwritable(each))
    return item === undefined ? undefined : 'a list of objects: write {{#each}}'
  }
  return isUnwritable(value) ? describeValue(value) : undefined
}

function isUnwritable(value: object | null): boolean {
  if (value === null || 'toHTML' in value || Symbol.toPrimitive in value) return false
  return value.toString === undefined || value.toString === Object.prototype.toString
}

function findTexts(value: object): string[] {
  return Object.keys(value).filter(key => /^[A-Za-z_]\w*$/.test(key) && typeof Reflect.get(value, key) !== 'object')
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
function findKeys({ params = [] }: Pick<Node, 'params'>): readonly string[] {
  const { data, depth, parts = [] } = params[0] ?? {}
  return data === true || depth !== 0 ? [] : parts
}

/** The expression or block at a place; `undefined` if the file has changed since it was loaded. */
function findNode(directory: string, { column, line }: HelperLocation['start']): Node | undefined {
  const [, file = '', number] = /^(.*): line (\d+)$/s.exec(line) ?? []
  return readNodes(path.resolve(directory, file)).find(
    ({ loc, type }) =>
      (type === 'BlockStatement' || type === 'MustacheStatement' || type === 'SubExpression') &&
      loc?.start.line === Number(number) &&
      loc.start.column === column,
  )
}
