import type { AnyNode, ArrayExpression, Program } from 'acorn'
import { addImport, createImport } from './imports.ts'
import type { FileChange } from './plan.ts'
import {
  applyEdits,
  type Edit,
  findValue,
  indentationAt,
  indentationUnit,
  isFunction,
  lineEnd,
  lineStart,
  listNodes,
  memberOf,
  parseSource,
  type Source,
  unwrap,
} from './syntax.ts'

/** Adds a bundle to the list of bundles that `loadBundles` returns, however it is written. */
export function listBundle(text: string, bundle: string, file: string): FileChange {
  const added = createImport(bundle, file)
  const source = parseSource(text)
  return {
    text: source && addToList(source, bundle, added),
    lines: [added, '// in the list of bundles:', `${bundle},`],
  }
}

function addToList(source: Source, bundle: string, added: string): string | undefined {
  const { program } = source
  const [list, ...others] = new Set(
    returned(findValue(program, 'loadBundles')).flatMap(node => findArrays(program, node)),
  )
  const imported = addImport(source, added)
  if (list === undefined || others.length > 0 || imported === undefined) return undefined
  return applyEdits(source, [...imported, ...editList(source, list, bundle)])
}

/** What a function returns. */
function returned(call: AnyNode | undefined): AnyNode[] {
  if (call === undefined || !isFunction(call)) return []
  const { body } = call
  if (body.type !== 'BlockStatement') return [body]
  return [...listNodes(body, isFunction)].flatMap(node =>
    node.type === 'ReturnStatement' && node.argument ? [node.argument] : [],
  )
}

/** How far a value is followed from name to name: a name may lead to itself. */
const deepest = 10

/** The arrays to which a bundle can be added, so that it is in the value of an expression. */
function findArrays(program: Program, expression: AnyNode | undefined, depth = 0): ArrayExpression[] {
  if (expression === undefined || depth > deepest) return []
  const node = unwrap(expression)
  const follow = (next: AnyNode | undefined) => findArrays(program, next, depth + 1)
  if (node.type === 'Identifier') return follow(findValue(program, node.name))
  if (node.type === 'ConditionalExpression') return [...follow(node.consequent), ...follow(node.alternate)]
  if (node.type === 'MemberExpression') {
    const { computed, object, property } = node
    const value = object.type === 'Identifier' ? findValue(program, object.name) : undefined
    return follow(memberOf(value, property.type === 'Identifier' && !computed ? property.name : undefined))
  }
  if (node.type === 'CallExpression') {
    const { arguments: values, callee } = node
    const own = callee.type === 'Identifier' ? returned(findValue(program, callee.name)) : []
    const object = callee.type === 'MemberExpression' ? [callee.object] : []
    const candidates = [own, ...[...object, ...values].map(each => [each])].map(nodes => nodes.flatMap(follow))
    return candidates.find(found => found.length > 0) ?? []
  }
  return node.type === 'ArrayExpression' ? [findSpread(program, node) ?? node] : []
}

/** In `[...bundles, ...(await loadDevelopment())]` the bundle is added to the list `bundles`. */
function findSpread(program: Program, { elements }: ArrayExpression): ArrayExpression | undefined {
  if (!elements.every(each => each?.type === 'SpreadElement')) return undefined
  const lists = elements.map(({ argument }) => argument.type === 'Identifier' && findValue(program, argument.name))
  return lists.flatMap(node => (node && node.type === 'ArrayExpression' ? [node] : []))[0]
}

/** Columns; longer lists of one line are broken into lines. */
const widest = 120

/** Adds a name after the last element that is no spread, so that the spread bundles of development stay at the end. */
function editList(source: Source, list: ArrayExpression, bundle: string): Edit[] {
  const { comments, text } = source
  const insert = (start: number, text: string): Edit => ({ start, end: start, text })
  const elements = list.elements.filter(each => each !== null)
  const before = elements.findLast(each => each.type !== 'SpreadElement') ?? elements.at(-1)
  const close = list.end - 1
  const inner = indentationAt(text, close) + indentationUnit(text)
  const isMultiline = text.slice(list.start, elements[0]?.start ?? close).includes('\n')
  if (before === undefined)
    return [isMultiline ? insert(lineStart(text, close), `${inner}${bundle},\n`) : insert(close, bundle)]
  const comma = findComma(source, before.end)
  if (isMultiline) {
    const start = afterComment(source, comma ?? before.end)
    const line = `\n${indentationAt(text, before.start)}${bundle}`
    return comma === undefined ? [insert(before.end, ','), insert(start, line)] : [insert(start, `${line},`)]
  }
  const edit = comma === undefined ? insert(before.end, `, ${bundle}`) : insert(comma, ` ${bundle},`)
  const line = text.slice(lineStart(text, list.start), lineEnd(text, list.start))
  const isPlain =
    !text.slice(list.start, list.end).includes('\n') &&
    !comments.some(({ start }) => list.start < start && start < list.end)
  if (!isPlain || line.length + edit.text.length <= widest) return [edit]
  const names = elements.flatMap(each => {
    const name = text.slice(each.start, each.end)
    return each === before ? [name, bundle] : [name]
  })
  const { end, start } = list
  const indentation = indentationAt(text, start)
  const lines = names.map(name => `${indentation}${indentationUnit(text)}${name},\n`)
  return [{ start, end, text: `[\n${lines.join('')}${indentation}]` }]
}

/** The position after the comma that follows an element. */
function findComma({ comments, text }: Source, position: number): number | undefined {
  let at = position
  for (;;) {
    at += text.slice(at).search(/\S/)
    const comment = comments.find(({ start }) => start === at)
    if (comment === undefined) return text.charAt(at) === ',' ? at + 1 : undefined
    at = comment.end
  }
}

/** The position after the comments that follow on the same line. */
function afterComment({ comments, text }: Source, position: number): number {
  const next = comments.find(({ start }) => start >= position && /^[ \t]*$/.test(text.slice(position, start)))
  return next === undefined ? position : next.end
}
