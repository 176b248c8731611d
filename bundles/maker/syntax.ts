import { tsPlugin } from '@sveltejs/acorn-typescript'
import { type AnyNode, type Comment, Parser, type Program } from 'acorn'

/** A source file and its syntax tree. */
export interface Source {
  readonly text: string
  readonly program: Program
  readonly comments: readonly Comment[]
}

/** The replacement of a part of a text. An insertion replaces an empty part. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

const parser = Parser.extend(tsPlugin())

/** Parses TypeScript. Returns `undefined` for a text with a syntax error. */
export function parseSource(text: string): Source | undefined {
  const comments: Comment[] = []
  try {
    const program = parser.parse(text, {
      ecmaVersion: 'latest',
      sourceType: 'module',
      preserveParens: true,
      onComment: comments,
    })
    return { text, program, comments }
  } catch {
    return undefined
  }
}

/** Applies edits, in the line endings of the file. Returns `undefined` if the result has a syntax error. */
export function applyEdits({ text }: Source, edits: readonly Edit[]): string | undefined {
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  // From the last to the first, so that the positions of the others stay right.
  const changed = edits
    .toSorted((one, other) => other.start - one.start)
    .reduce((all, { start, end, text }) => all.slice(0, start) + text.replace(/\r?\n/g, lineEnd) + all.slice(end), text)
  return parseSource(changed) && changed
}

/** The node and all nodes below it. `isClosed` excludes what is below a node. */
export function* listNodes(node: AnyNode, isClosed: (node: AnyNode) => boolean = () => false): Generator<AnyNode> {
  yield node
  if (isClosed(node)) return
  for (const child of Object.values(node).flat()) if (isNode(child)) yield* listNodes(child, isClosed)
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

/** Removes parentheses, `await`, and the type assertions of an expression. */
export function unwrap(node: AnyNode): AnyNode {
  if (node.type === 'AwaitExpression') return unwrap(node.argument)
  // The nodes of TypeScript, such as `TSSatisfiesExpression`, are not among the types of acorn.
  const isWrapper = node.type === 'ParenthesizedExpression' || node.type.startsWith('TS')
  return isWrapper && 'expression' in node && isNode(node.expression) ? unwrap(node.expression) : node
}

/** A function with a body. */
export type FunctionNode = Extract<
  AnyNode,
  { type: 'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression' }
>

/** Whether a node is a function. */
export function isFunction(node: AnyNode): node is FunctionNode {
  return /^(?:Arrow)?Function(?:Declaration|Expression)$/.test(node.type)
}

/** The name of a property or method; `undefined` if it is computed. */
export function memberName(node: Extract<AnyNode, { key: unknown; computed: boolean }>): string | undefined {
  const { computed, key } = node
  if (computed) return undefined
  if (key.type === 'Identifier') return key.name
  return key.type === 'Literal' ? String(key.value) : undefined
}

/** Finds a function, or the value of a variable, also of one that is a property of an object. */
export function findValue(program: Program, name: string): AnyNode | undefined {
  for (const node of listNodes(program)) {
    if (node.type === 'FunctionDeclaration' && node.id?.name === name) return node
    if (node.type !== 'VariableDeclarator' || !node.init) continue
    if (node.id.type === 'Identifier' && node.id.name === name) return unwrap(node.init)
    if (node.id.type === 'ObjectPattern') {
      const property = node.id.properties.find(
        each => each.type === 'Property' && each.value.type === 'Identifier' && each.value.name === name,
      )
      if (property?.type === 'Property') return memberOf(unwrap(node.init), memberName(property))
    }
  }
  return undefined
}

/** The value of a property of an object. */
export function memberOf(object: AnyNode | undefined, name: string | undefined): AnyNode | undefined {
  if (object?.type !== 'ObjectExpression') return undefined
  const property = object.properties.find(each => each.type === 'Property' && memberName(each) === name)
  return property?.type === 'Property' ? property.value : undefined
}

/** The indentation of the line of a position. */
export function indentationAt(text: string, position: number): string {
  const start = lineStart(text, position)
  return text.slice(start, start + text.slice(start).search(/[^ \t]|$/))
}

/** The beginning of the line of a position. */
export function lineStart(text: string, position: number): number {
  return text.lastIndexOf('\n', position - 1) + 1
}

/** The end of the line of a position, without the line feed. */
export function lineEnd(text: string, position: number): number {
  const end = text.indexOf('\n', position)
  const last = end === -1 ? text.length : end
  return text[last - 1] === '\r' ? last - 1 : last
}

/** One more level of indentation: a tab, or the smallest number of spaces at the beginning of a line. */
export function indentationUnit(text: string): string {
  const found = [...text.matchAll(/^(?:\t| {2,})(?=[^\s*])/gm)].map(([spaces]) => spaces)
  return found.sort((one, other) => one.length - other.length)[0] ?? '  '
}
