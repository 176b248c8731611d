import path from 'node:path'
import { describeValue, readProperty } from '../text/describe-value.ts'
import { nearestNames, quoteNearest, suggestNames } from '../text/mistakes.ts'
import type { HelperLocation } from './handlebars.ts'
import type { TemplateFile } from './template-files.ts'
import {
  explainCycle,
  explainPartial,
  findIncompleteCall,
  listNodes,
  type PageTemplates,
  readNodes,
  readTemplateCalls,
} from './template-uses.ts'

/**
 * Writes the name of the file into the lines of a syntax tree of Handlebars, before it is compiled: the errors of
 * Handlebars name only the line, although it may be one of a partial. A render costs no time for it.
 */
export function locateNodes<tree>(tree: tree, file: string): tree {
  // Two nodes may have the same location.
  for (const { start } of new Set(listNodes(tree).flatMap(({ loc }) => loc ?? []))) {
    // Handlebars copies the line into its error and into the options of a helper. It does not count with it.
    Object.assign(start, { line: `${file}: line ${start.line}` })
  }
  return tree
}

/** A failed call of a helper. */
export class HelperFailure {
  /** What the helper has thrown. */
  readonly thrown: unknown
  readonly lineNumber: string
  readonly column: number

  /** `location` is that of Handlebars for the call. */
  constructor(thrown: unknown, { start }: HelperLocation) {
    this.thrown = thrown
    this.lineNumber = start.line
    this.column = start.column
  }
}

/** A value that a template needs, and that is not there. */
class MissingValue extends Error {
  readonly parent: unknown
  readonly key: string
  readonly lineNumber: string
  readonly column: number

  constructor(parent: unknown, key: string, { start }: HelperLocation) {
    super(describeMissing(parent, key))
    this.parent = parent
    this.key = key
    this.lineNumber = start.line
    this.column = start.column
  }
}

/** Reads a value for a template: an own property, which may be `undefined`. @throws MissingValue */
export function readValue(parent: unknown, key: string, location: HelperLocation): unknown {
  if (typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)) {
    const value = (parent as Readonly<Record<string, unknown>>)[key]
    if (!(value instanceof Promise)) return value
  }
  // A text has a length.
  if (typeof parent === 'string' && key === 'length') return parent.length
  throw new MissingValue(parent, key, location)
}

function describeMissing(parent: unknown, key: string): string {
  if (parent === null || parent === undefined) return `"${key}" is not defined: it is a key of ${parent}`
  const object = Object(parent)
  if (Object.hasOwn(object, key)) return `"${key}" is a promise: await it before render()`
  if (key in object) return describeUnread(object, key)
  if (object instanceof Map && object.has(key))
    return `"${key}" is not defined: templates do not read a Map: pass Object.fromEntries(map)`
  if (/^(?:yield|outlet|children)$/.test(key)) return `"${key}" is not defined: a layout has {{> @partial-block}}`
  return `"${key}" is not defined${describeToken(key) ?? suggestNames(key, Object.keys(object))}`
}

/** Templates of other frameworks put a token into each form. */
export function describeToken(name: string): string | undefined {
  return /csrf|xsrf/i.test(name) ? ': forms need no token, requests of other sites are refused' : undefined
}

/** Why a template does not have the value of a method or getter. */
export function describeUnread(parent: object, key: string): string {
  return `"${key}" is not defined: templates do not read methods and getters of ${describeValue(parent)}`
}

/** A place in a template. */
export interface TemplatePlace {
  /** The name of the template, such as `site/page`. */
  readonly name: string
  /** The absolute path. */
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** A page whose render has failed. */
interface FailedPage extends PageTemplates {
  readonly model: object
  /** The names of all globals. */
  readonly globals: readonly string[]
}

/** Why a page cannot be rendered. */
interface RenderFailure {
  /** The reason in words, after the file and the line if they are known. */
  readonly reason: string
  /** What was thrown by a helper, or at an unknown place. */
  readonly cause: unknown
  /** The place in a template whose text has failed; `undefined` if it is not known. The column is from 1. */
  readonly place: Omit<TemplatePlace, 'name'> | undefined
}

/** Explains what was thrown during a render; `innermost` is the file of the innermost template that is known. */
export function explainFailure(failure: unknown, page: FailedPage, innermost: string | undefined): RenderFailure {
  const { root } = page
  const { column, lineNumber } = Object(failure) as { readonly column?: unknown; readonly lineNumber?: unknown }
  const [, file, line] = /^(.*): line (\d+)$/s.exec(String(lineNumber)) ?? []
  if (file === undefined) {
    const found = innermost === undefined ? undefined : explainArgument(failure, innermost, page)
    if (found !== undefined) return found
    const message = messageOf(failure)
    const endless = /call stack/.test(message) ? explainCycle(page) : undefined
    if (endless !== undefined) return { ...endless, cause: undefined }
    const [, partial] = /^The partial (.+) could not be found$/.exec(message) ?? []
    const explained = partial === undefined ? undefined : explainPartial(partial, page)
    // The error of Handlebars says nothing more.
    if (explained !== undefined) return { ...explained, cause: undefined }
    return { reason: message, cause: failure, place: undefined }
  }
  const place = { file: path.resolve(root, file), line: Number(line), column: Number(column) + 1 }
  if (failure instanceof HelperFailure) {
    const { thrown } = failure
    return { reason: `${lineNumber}: ${messageOf(thrown)}`, cause: thrown, place }
  }
  const message = messageOf(failure).replace(` - ${lineNumber}:${column}`, '')
  const words = failure instanceof MissingValue ? explainMissing(failure, place, page) : message
  return { reason: `${lineNumber}: ${words}`, cause: undefined, place }
}

/** Names the parent of a missing value by the path in the template: `{{user.name}}`. */
function explainMissing(missing: MissingValue, place: CodePosition, page: FailedPage): string {
  const { column, file, line } = place
  const { key, message, parent } = missing
  if (parent !== null && parent !== undefined) {
    if (key in Object(parent) || parent instanceof Map) return message
    const path = findPath(file, line, column)
    if (/^@(?:key|index|first|last)$/.test(path))
      return `"${path}" is not defined: it is one of an item, in the block of {{#each}}`
    const call = findIncompleteCall(key, place, page)
    if (call !== undefined) return `${message}; ${call} does not pass it`
    const elsewhere = findElsewhere(key, parent === page.model ? { ...page, model: {} } : page)
    return elsewhere === undefined ? message : `${message.split(';')[0]} here: write {{${elsewhere}}}`
  }
  const path = findPath(file, line, column)
  const above = path.split(/[./]/).slice(0, -1)
  if (above.length === 0) return message
  const [first = ''] = above
  if (/^(?:\.\.\/)+[^./]+$/.test(path))
    return `{{${path}}} is above the page: {{#each}} and {{#with}} begin a level, {{#if}} does not; {{@root.${key}}} is of the page`
  const elsewhere = findElsewhere(first, { ...page, model: {} })
  const suggestion = elsewhere ? `: write {{@${path}}}` : suggestParent(above, page.model)
  return `"${key}" of {{${path}}} is not defined, because "${above.join('.')}" is ${parent}${suggestion}`
}

/** What is right for a parent that has no value: `["product"]` of `{{product.name}}`. */
function suggestParent([first = '', ...rest]: readonly string[], model: object): string {
  if (first in model || first.startsWith('@')) {
    return rest.length > 0 ? '' : `: if it may be missing, write {{#if ${first}}} … {{/if}} around it`
  }
  const nearest = nearestNames(first, Object.keys(model))
  const list = nearest.find(name => Array.isArray(readProperty(model, name)))
  const item = list === undefined ? '' : `, whose items get this name by {{#each ${list} as |${first}|}}`
  return loopHint.get(first) ?? `${quoteNearest(list === undefined ? nearest : [list])}${item}`
}

/** How other languages name the state of a loop. */
export const loopHint: ReadonlyMap<string, string> = new Map([
  ...['loop', 'forloop'].map(
    name => [name, ': in {{#each}}, an item has {{@index}}, {{@first}} and {{@last}}'] as const,
  ),
  ...['request', 'session', 'app'].map(
    name => [name, ': pass what the page needs of it as a value, or by view.addGlobal(name, value)'] as const,
  ),
])

/** How a template reads a value of the page, or a global, from any place. */
function findElsewhere(key: string, { globals, model }: FailedPage): string | undefined {
  if (Object.hasOwn(model, key)) return `@root.${key}`
  return globals.includes(key) ? `@${key}` : undefined
}

/**
 * Explains a missing parent in an argument of a helper, such as `{{#if user.name}}`: the error of
 * Handlebars has no place. If several places have such a path, only the file is certain.
 */
function explainArgument(failure: unknown, file: string, page: FailedPage): RenderFailure | undefined {
  const { globals, model, root } = page
  const pattern = /^Cannot read properties of (null|undefined) \(reading '(.*)'\)$/
  const [, parent, key = ''] = (failure instanceof TypeError && pattern.exec(failure.message)) || []
  if (parent === undefined) return undefined
  const found = listPaths(file).flatMap(({ loc, original = '', parts = [] }) => {
    const above = parts.slice(0, parts.lastIndexOf(key))
    return above.length > 0 && `${valueAt(model, above)}` === parent ? [{ above: above.join('.'), loc, original }] : []
  })
  const [first] = found
  if (first?.loc === undefined || found.some(({ original }) => original !== first.original)) return undefined
  const isGlobal = globals.includes(first.above) && !(first.above in model)
  const suggestion = isGlobal ? `: write @${first.original}` : suggestParent(first.above.split('.'), model)
  const reason = `"${key}" of ${first.original} is not defined, because "${first.above}" is ${parent}${suggestion}`
  const shown = path.relative(root, file)
  if (found.length > 1) return { reason: `${shown}: ${reason}`, cause: undefined, place: undefined }
  const { column, line } = first.loc.start
  return { reason: `${shown}: line ${line}: ${reason}`, cause: undefined, place: { file, line, column: column + 1 } }
}

/** The value at the end of a path in a model. */
export function valueAt(model: object, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((value, key) => (value === null ? null : Object(value)[key]), model)
}

type CodePosition = Pick<TemplatePlace, 'file' | 'line' | 'column'>

/** The text of the path at a place in a template; empty if the file has changed since it was loaded. */
function findPath(file: string, line: number, column: number): string {
  const found = listPaths(file).find(({ loc }) => loc?.start.line === line && loc.start.column === column - 1)
  return String(found?.original ?? '')
}

/** The paths in a template; none if the file has changed, and has a mistake now. */
function listPaths(file: string) {
  return readNodes(file).filter(({ type }) => type === 'PathExpression')
}

/**
 * The places in which the templates of a failed render call each other, innermost first, where they are unambiguous.
 */
export function findCallers(names: readonly string[], files: readonly TemplateFile[]): TemplatePlace[] {
  if (names.length < 2) return []
  const called = new Map(names.slice(1).map((name, index) => [name, names[index] ?? '']))
  return files
    .filter(({ name }) => called.has(name))
    .sort((one, other) => names.indexOf(one.name) - names.indexOf(other.name))
    .flatMap(template => {
      const calls = readTemplateCalls(template).calls.filter(({ name }) => name === called.get(template.name))
      const [call] = calls
      if (call === undefined || calls.length > 1) return []
      return [{ name: template.name, file: template.file, line: call.line, column: call.column }]
    })
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

const frameLimit = 10

/** Adds places in templates to the stack of an error, as its innermost calls: at most ten. */
export function addFrames<error extends Error>(error: error, places: readonly TemplatePlace[]): error {
  const frames = places
    .slice(0, frameLimit)
    .map(({ column, file, line, name }) => `    at template ${name} (${file}:${line}:${column})\n`)
  const { message, stack = '' } = error
  const start = stack.indexOf(`${message}\n`)
  // Without calls, the stack ends with the message.
  const end = start === -1 ? stack.length : start + message.length + 1
  const head = start === -1 ? `${stack}\n` : stack.slice(0, end)
  error.stack = `${head}${frames.join('')}${stack.slice(end)}`
  return error
}

/** The templates in which a failure was noted, innermost first. */
const noted = new WeakMap<object, string[]>()

/** Notes that a failure has ended the render of a template. Called for the innermost template first. */
export function noteTemplate(failure: unknown, name: string): void {
  // A thrown value that is no object gets a new key here, so it is not found again.
  const key: object = Object(failure)
  const names = noted.get(key)
  if (names === undefined) noted.set(key, [name])
  else names.push(name)
}

/** The templates in which a failure was noted, innermost first; none if the renders are not traced. */
export function notedTemplates(failure: unknown): readonly string[] {
  return noted.get(Object(failure)) ?? []
}
