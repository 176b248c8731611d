import { tsPlugin } from '@sveltejs/acorn-typescript'
import { type AnyNode, type Comment, Parser, type Program } from 'acorn'

/** A source file and its syntax tree. */
export interface Source {
  readonly text: string
  readonly program: Program
  readonly comments: readonly Comment[]
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

/** The node and all nodes below it. `isClosed` excludes what is below a node. */
export function* listNodes(node: AnyNode): Generator<AnyNode> {
  yield node
  for (const child of Object.values(node).flat()) if (isNode(child)) yield* listNodes(child)
}

/** Whether a value is a node of a syntax tree. */
export function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

/** Removes parentheses, `await`, and the type assertions of an expression. */
export function unwrap(node: AnyNode): AnyNode {
  if (node.type === 'AwaitExpression') return unwrap(node.argument)
  // The nodes of TypeScript, such as `TSSatisfiesExpression`, are not among the types of acorn.
  const isWrapper = node.type === 'ParenthesizedExpression' || node.type.startsWith('TS')
  return isWrapper && 'expression' in node && isNode(node.expression) ? unwrap(node.expression) : node
}
