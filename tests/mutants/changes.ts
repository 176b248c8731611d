import { type AnyNode, type Expression, type Node, type Program, parse } from 'acorn'
import { isNode } from '#tests/support/syntax.ts'

/** A change of a program, which a test should notice. */
export interface Change {
  /** What is changed, such as `condition negated`. */
  readonly kind: string
  readonly start: number
  readonly end: number
  /** The text between `start` and `end`. */
  readonly before: string
  /** What replaces it. */
  readonly text: string
}

/**
 * Lists the changes of a module of JavaScript, each of a single place. Changes of text that only
 * imports a module are left out.
 */
export function listChanges(source: string): Change[] {
  const program = parse(source, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true })
  const changes: Change[] = []
  for (const { node, parent } of walk(program)) {
    const textOf = ({ end, start }: Node) => source.slice(start, end)
    for (const [kind, { end, start }, text] of changesOf(node, parent, textOf)) {
      const before = source.slice(start, end)
      if (text !== before && before !== 'undefined') changes.push({ kind, start, end, before, text })
    }
  }
  return changes
}

/** The kind of a change of `0` in `a ?? 0`. If no test executes it, the type of `a` demands it. */
export const defaultChanged = 'default changed'

/** A kind, the node or the part that is replaced, and its replacement. */
type Replaced = readonly [kind: string, part: Pick<Node, 'start' | 'end'>, text: string]

const inverse: Readonly<Record<string, string>> = {
  ...{ '===': '!==', '!==': '===', '==': '!=', '!=': '==', '<': '>=', '>=': '<', '>': '<=', '<=': '>' },
  ...{ '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '**': '*', '&': '|', '|': '&', '<<': '>>', '>>': '<<' },
  ...{ '+=': '-=', '-=': '+=', '*=': '/=', '++': '--', '--': '++', '&&': '||', '||': '&&' },
}
const bounds: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const opposites: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ some: 'every', every: 'some', min: 'max', max: 'min', floor: 'ceil', ceil: 'floor' },
    ...{ startsWith: 'endsWith', endsWith: 'startsWith', indexOf: 'lastIndexOf', lastIndexOf: 'indexOf' },
    ...{ find: 'findLast', findLast: 'find', push: 'unshift', unshift: 'push', padStart: 'padEnd' },
  }),
)
/** Methods that return something of the kind of their object. */
const steps = ['filter', 'slice', 'trim', 'toLowerCase', 'toUpperCase', 'sort', 'toSorted', 'reverse', 'toReversed']

function* changesOf(node: AnyNode, parent: AnyNode | undefined, textOf: (node: Node) => string): Generator<Replaced> {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      yield ['condition negated', node.test, `!(${textOf(node.test)})`]
      yield ['condition true', node.test, 'true']
      yield ['condition false', node.test, 'false']
      break
    case 'WhileStatement':
    case 'ForStatement':
      if (node.test) yield ['loop left out', node.test, 'false']
      break
    case 'ForOfStatement':
    case 'ForInStatement':
      yield ['loop left out', node.body, '{}']
      break
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression': {
      const { left, operator, right } = node
      // Between the operands are the operator, blanks and parentheses.
      const between = { start: left.end, end: right.start }
      const change = (to: string) => textOf({ ...node, ...between }).replace(operator, to)
      const isText = operator === '+' && [left, right].some(({ type }) => type === 'TemplateLiteral')
      if (inverse[operator] !== undefined && !isText) yield ['operator inverted', between, change(inverse[operator])]
      if (bounds[operator] !== undefined) yield ['bound shifted', between, change(bounds[operator])]
      if (operator === 'instanceof' || operator === 'in') yield ['condition true', node, 'true']
      if (node.type === 'LogicalExpression') {
        yield ['right side left out', node, `(${textOf(left)})`]
        yield ['left side left out', node, `(${textOf(right)})`]
      }
      break
    }
    case 'UpdateExpression': {
      const operator = node.prefix
        ? { start: node.start, end: node.argument.start }
        : { start: node.argument.end, end: node.end }
      yield ['operator inverted', operator, inverse[node.operator] ?? '']
      break
    }
    case 'UnaryExpression':
      if (node.operator === '!' || node.operator === '-') yield ['sign left out', node, `(${textOf(node.argument)})`]
      break
    case 'Literal':
      yield* changesOfLiteral(node.value, node, parent)
      break
    case 'TemplateLiteral':
      if (parent?.type !== 'TaggedTemplateExpression') yield ['text emptied', node, '``']
      break
    case 'ReturnStatement':
      if (node.argument) yield ['result left out', node.argument, '(undefined)']
      break
    case 'ArrowFunctionExpression':
      if (node.expression) yield ['result left out', node.body, '(undefined)']
      break
    case 'ExpressionStatement':
      if (node.directive === undefined) yield ['statement left out', node, ';']
      break
    case 'ThrowStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
      yield ['statement left out', node, ';']
      break
    case 'TryStatement':
      if (node.finalizer?.body.length) yield ['block emptied', node.finalizer, '{}']
      break
    case 'CatchClause':
      if (node.body.body.length > 0) yield ['block emptied', node.body, '{}']
      break
    case 'AwaitExpression':
      yield ['await left out', node, `(${textOf(node.argument)})`]
      break
    case 'ArrayExpression':
      if (node.elements.length > 0) yield ['array emptied', node, '[]']
      yield* changesOfList('element left out', node.elements)
      break
    case 'ObjectExpression':
      if (node.properties.length > 0) yield ['object emptied', node, '({})']
      yield* changesOfList('property left out', node.properties)
      break
    case 'AssignmentPattern':
      yield ['default left out', node, textOf(node.left)]
      break
    case 'CallExpression':
    case 'NewExpression':
      yield* changesOfCall(node.callee, node, textOf)
      break
    case 'MemberExpression':
      if (node.optional) {
        // Between the object and the name are `?.` and parentheses.
        const between = { start: node.object.end, end: node.property.start }
        const text = textOf({ ...node, ...between })
        yield ['?. without ?', between, text.replace('?.', node.computed ? '' : '.')]
      }
      break
  }
}

function* changesOfLiteral(value: unknown, node: AnyNode, parent: AnyNode | undefined): Generator<Replaced> {
  const isName = parent !== undefined && 'key' in parent && parent.key === node
  if (isName || (parent !== undefined && 'source' in parent)) return
  const isDefault = parent?.type === 'LogicalExpression' && parent.operator === '??' && parent.right === node
  const kind = isDefault ? defaultChanged : 'constant changed'
  if (typeof value === 'boolean') yield [kind, node, String(!value)]
  if (typeof value === 'number') {
    yield [kind, node, `${value + 1}`]
    yield [kind, node, `(${value - 1})`]
  }
  if (typeof value === 'string') yield [kind, node, value === '' ? "'?'" : "''"]
  if (value instanceof RegExp) yield* changesOfPattern(value, node)
}

/** The places of a pattern that may be changed, and what replaces them. */
const patternParts: readonly (readonly [kind: string, part: RegExp, text: string])[] = [
  ['quantifier changed', /(?<=[\w)\]])\+/g, ''],
  ['quantifier changed', /(?<=[\w)\]])\*/g, '+'],
  ['quantifier changed', /(?<=[\w)\]])\?/g, ''],
  ['quantifier changed', /\{(\d+),(\d*)\}/g, '{$1}'],
  ['anchor left out', /(?<![[\\])\^|(?<!\\)\$(?=[/)|])|\\b/g, ''],
  ['class inverted', /(?<!\\)\[(?!\^)/g, '[^'],
  ['class inverted', /(?<!\\)\[\^/g, '['],
  ['look-around inverted', /\(\?(<?)!/g, '(?$1='],
  ['flag left out', /(?<=\/[a-z]*)[gis](?=[a-z]*$)/g, ''],
]

function* changesOfPattern(pattern: RegExp, node: AnyNode): Generator<Replaced> {
  const source = String(pattern)
  for (const [kind, part, text] of patternParts) {
    for (const { 0: found, 1: group = '', index } of source.matchAll(part)) {
      const changed = source.slice(0, index) + text.replace('$1', group) + source.slice(index + found.length)
      if (isPattern(changed)) yield [kind, node, changed]
    }
  }
}

function isPattern(text: string): boolean {
  const end = text.lastIndexOf('/')
  try {
    return text !== '//' && RegExp(text.slice(1, end), text.slice(end + 1)) !== undefined
  } catch {
    return false
  }
}

function* changesOfList(kind: string, items: readonly (Node | null)[]): Generator<Replaced> {
  if (items.length < 2) return
  for (const [index, item] of items.entries()) {
    const [next, before] = [items[index + 1], items[index - 1]]
    if (item && next) yield [kind, { start: item.start, end: next.start }, '']
    else if (item && before) yield [kind, { start: before.end, end: item.end }, '']
  }
}

function* changesOfCall(
  callee: Expression | { readonly type: 'Super' },
  node: Node & { readonly arguments: readonly Node[] },
  textOf: (node: Node) => string,
): Generator<Replaced> {
  const [last, before] = node.arguments.toReversed()
  if (last) yield ['argument left out', { start: before?.end ?? last.start, end: last.end }, '']
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
  const { name } = callee.property
  const opposite = opposites.get(name)
  if (opposite !== undefined) yield ['method inverted', callee.property, opposite]
  if (steps.includes(name)) yield ['call left out', node, textOf(callee.object)]
}

/** Visits all nodes below a node. */
function* walk(node: AnyNode | Program, parent?: AnyNode): Generator<{ node: AnyNode; parent: AnyNode | undefined }> {
  yield { node, parent }
  for (const value of Object.values(node)) {
    for (const child of [value].flat()) if (isNode(child)) yield* walk(child, node)
  }
}
