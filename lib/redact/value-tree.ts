import { types } from 'node:util'
import { describeError, hideStatement } from '../errors/flat-error.ts'
import { formatFrame, locateFrame, parseStack, type StackFrame } from '../stack/stack-frames.ts'
import {
  type CopyBounds,
  classOf,
  type Entries,
  functionName,
  getter,
  isList,
  isNamedBefore,
  isNote,
  itemsOf,
  MaskingCopier,
  type Naming,
  namingOf,
  pairsOf,
  propertiesOf,
  secret,
  type TextMasker,
} from './masking-copier.ts'
import { isFact } from './prose.ts'
import { maskIssue } from './secret-names.ts'

/** Any value as plain data: masked, within bounds, with its types and classes. */
export interface ValueTree {
  /** `text`: a string. `value`: a number, a boolean, a date. `object`: an object. `note`: a value that is not shown. */
  readonly kind: 'text' | 'value' | 'object' | 'note'
  /** A string as it is; of an object its class, and the size of a collection: `Map(2)`. */
  readonly text: string
  /** The properties or items of an object. */
  readonly entries?: readonly ValueEntry[] | undefined
  /** How many further entries were left out. */
  readonly omitted?: number | undefined
}

/** A property of an object, or an item of a collection. */
export interface ValueEntry {
  readonly name: string
  readonly value: ValueTree
}

/** Gives the entries of objects whose data is private; `undefined` for all other objects. */
export type Expand = (value: object) => Entries | undefined

/** The most entries of one object. */
const breadth = 100
const frameLimit = 20

const circular: ValueTree = { kind: 'note', text: '[circular]' }
const unreadable: ValueTree = { kind: 'note', text: '[unreadable]' }

/**
 * Describes a value as a tree. Values under secret names, and secrets in texts, are masked. No
 * getter, no `toJSON` and no method of the value is called. The bounds hold for the whole tree; an
 * object has at most 100 entries. Never throws.
 */
export function describeTree(value: unknown, masker: TextMasker, options: TreeOptions): ValueTree {
  return new TreeBuilder(masker, options).build('', value, options.bounds.depth)
}

/** Describes the values of one call, each as a tree. A text may name the value behind it: `('password:', value)`. */
export function describeTrees(values: readonly unknown[], masker: TextMasker, options: TreeOptions): ValueTree[] {
  return values.map((value, index) =>
    isNamedBefore(values[index - 1], value, masker, 'said')
      ? secret
      : new TreeBuilder(masker, options, [values]).build('', value, options.bounds.depth),
  )
}

/** How a tree is made. */
interface TreeOptions {
  readonly bounds: CopyBounds
  readonly expand?: Expand
  /** The directory of the application: files in stacks of errors are shown as seen from it. */
  readonly directory?: string
}

class TreeBuilder {
  readonly #masker: TextMasker
  readonly #copier: MaskingCopier
  readonly #expand: Expand
  readonly #directory: string | undefined
  /** The objects around the current one. */
  readonly #outer: object[]

  constructor(masker: TextMasker, { bounds, directory, expand = () => undefined }: TreeOptions, outer: object[] = []) {
    this.#outer = outer
    this.#masker = masker
    this.#copier = new MaskingCopier(masker, bounds)
    this.#expand = expand
    this.#directory = directory
  }

  build(name: string, value: unknown, depth: number): ValueTree {
    if (value === undefined || value === null) return { kind: 'value', text: String(value) }
    if (value !== '' && this.#masker.isSecret(name) && !isFact(name, value)) return secret
    switch (typeof value) {
      case 'string':
        return { kind: 'text', text: this.#copier.text(value) }
      case 'bigint':
        return { kind: 'value', text: `${value}n` }
      case 'symbol':
        return { kind: 'value', text: this.#copier.text(String(value)) }
      case 'function':
        return { kind: 'note', text: this.#copier.text(nameFunction(value)) }
      case 'object':
        return this.#guard(value, depth, namingOf(name, value, isList(this.#outer.at(-1))))
      default:
        return { kind: 'value', text: Object.is(value, -0) ? '-0' : String(value) }
    }
  }

  #guard(value: object, depth: number, naming: Naming): ValueTree {
    if (types.isProxy(value)) return { kind: 'note', text: '[Proxy]' }
    if (this.#outer.includes(value)) return circular
    this.#outer.push(value)
    try {
      return this.#buildObject(value, depth, naming)
    } catch {
      // A proxy as a prototype may throw.
      return unreadable
    } finally {
      this.#outer.pop()
    }
  }

  #buildObject(value: object, depth: number, naming: Naming): ValueTree {
    if (types.isNativeError(value) || value instanceof Error) {
      const text = describeError(value, text => this.#copier.text(text))
      return this.#withEntries(text, this.#errorEntries(value), depth)
    }
    if (value instanceof Date) {
      return { kind: 'value', text: Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString() }
    }
    if (types.isRegExp(value)) return { kind: 'value', text: this.#copier.text(RegExp.prototype.toString.call(value)) }
    if (value instanceof URL) return { kind: 'value', text: this.#copier.text(value.href) }
    const name = this.#copier.text(classOf(value))
    if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
      // Bytes may be a secret that no rule would recognise.
      return { kind: 'object', text: `${name}(${value.byteLength} ${value.byteLength === 1 ? 'byte' : 'bytes'})` }
    }
    if (isList(value)) {
      const size = Array.isArray(value) ? value.length : (value as ReadonlySet<unknown>).size
      return this.#withEntries(`${name}(${size})`, itemsOf(value, naming, this.#masker), depth, size)
    }
    if (types.isMap(value)) return this.#withEntries(`${name}(${value.size})`, pairsOf(value), depth, value.size)
    return this.#withEntries(name, this.#expand(value) ?? propertiesOf(value, this.#masker), depth)
  }

  /** `size` is the number of all entries; by default they are counted. */
  #withEntries(text: string, all: Entries, depth: number, size?: number): ValueTree {
    if (depth === 0) return size === 0 ? { kind: 'object', text } : { kind: 'object', text: `${text} …` }
    const entries: ValueEntry[] = []
    let omitted = 0
    for (const [name, value] of all) {
      if (omitted > 0 || entries.length === breadth || this.#copier.isSpent()) omitted++
      else {
        const tree = isNote(value) ? value : this.build(name, value, depth - 1)
        entries.push({ name: this.#copier.text(name), value: tree })
      }
      if (omitted > 0 && size !== undefined) break
    }
    if (size !== undefined) omitted = size - entries.length
    return { kind: 'object', text, ...(entries.length > 0 && { entries }), ...(omitted > 0 && { omitted }) }
  }

  *#errorEntries(error: object): Entries {
    const directory = this.#directory
    const frames = parseStack(error).slice(0, frameLimit)
    const locate = (frame: StackFrame) =>
      directory === undefined ? frame : { ...frame, file: locateFrame(frame, directory).file ?? frame.file }
    if (frames.length > 0) yield ['stack', frames.map(frame => formatFrame(locate(frame))).join('\n')]
    for (const name of ['cause', 'errors']) {
      const property = Object.getOwnPropertyDescriptor(error, name)
      if (property !== undefined && !property.enumerable) yield [name, property.get ? getter : property.value]
    }
    const properties = Object.create(null) as Record<string, unknown>
    const source = maskIssue(error, this.#masker.isSecret)
    for (const name of Object.keys(source)) {
      const property = Object.getOwnPropertyDescriptor(source, name)
      if (name !== 'stack' && name !== 'message') properties[name] = property?.get ? getter : property?.value
    }
    hideStatement(error, properties)
    yield* propertiesOf(properties, this.#masker)
  }
}

function nameFunction(value: object): string {
  const isClass = Function.prototype.toString.call(value).startsWith('class')
  return `[${isClass ? 'class' : 'function'} ${functionName(value) || '(anonymous)'}]`
}

/** Writes a tree as text: one line for a simple value, otherwise an indented line for each entry. */
export function formatTree(tree: ValueTree, indent = ''): string {
  const { entries = [], omitted = 0 } = tree
  const inner = `${indent}  `
  const lines = entries.map(({ name, value }) => `${inner}${name}: ${formatTree(value, inner)}`)
  const rest = omitted > 0 ? [`${inner}… ${omitted.toLocaleString('en')} more`] : []
  return [writeHead(tree, inner), ...lines, ...rest].join('\n')
}

function writeHead({ kind, text }: ValueTree, indent: string): string {
  if (kind !== 'text') return text
  return text.includes('\n') ? `\n${text}`.replaceAll('\n', () => `\n${indent}`) : JSON.stringify(text)
}
