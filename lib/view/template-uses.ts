import { readTemplate, type TemplateFile } from './template-files.ts'

/** Parses a template to a syntax tree. @throws Error for a mistake of its grammar */
export type Parse = (source: string) => unknown

/**
 * What a template uses: a partial, as a layout if it is called with a block, an inline partial that it defines, a helper or a
 * global; and what it may not have: a computed name of a partial, and unescaped output.
 */
export interface Use {
  readonly kind: 'partial' | 'layout' | 'inline' | 'helper' | 'global' | 'computed' | 'unescaped'
  readonly name: string
  readonly line: number
  readonly column: number
  /** Whether the block of a layout has more than inline partials. */
  readonly hasContent?: boolean
}

/** What the templates of the last check use, by their texts: to parse them takes most of the time of a start. */
let known: ReadonlyMap<string, readonly Use[]> = new Map()

/** Creates a function that reads what a template uses. The next reader knows the texts that this one has read. */
export function createReader(parse: Parse): (source: string) => readonly Use[] {
  const before = known
  const read = new Map<string, readonly Use[]>()
  known = read
  return source => {
    const uses = before.get(source) ?? listNodes(parse(source)).flatMap(toUse)
    read.set(source, uses)
    return uses
  }
}

/** Parses templates ahead of a check. */
export function parseAhead(files: readonly TemplateFile[], parse: Parse): void {
  const read = createReader(parse)
  for (const { file } of files) read(readTemplate(file))
}

function toUse(node: Node): Use | [] {
  const kind = kindOf(node)
  if (kind === undefined) return []
  const names = { inline: node.params?.[0]?.original, helper: node.path?.original, global: node.parts?.[0] }
  const name = String(kind in names ? names[kind as keyof typeof names] : node.name?.original)
  const use: Use = { kind, name, line: node.loc?.start.line ?? 1, column: (node.loc?.start.column ?? 0) + 1 }
  return kind === 'layout' ? { ...use, hasContent: node.program?.body?.some(isShown) ?? false } : use
}

/** Whether a part of a block is shown where the block is inserted. */
function isShown({ type, value }: Node): boolean {
  if (type === 'ContentStatement')
    return (
      String(value)
        .replace(/<!--[\s\S]*?-->/g, '')
        .trim() !== ''
    )
  return type !== 'DecoratorBlock' && type !== 'CommentStatement'
}

function kindOf(node: Node): Use['kind'] | undefined {
  switch (node.type) {
    case 'PartialStatement':
    case 'PartialBlockStatement':
      if (node.name?.type === 'SubExpression') return 'computed'
      return node.type === 'PartialStatement' ? 'partial' : 'layout'
    case 'DecoratorBlock':
      return 'inline'
    case 'PathExpression':
      return node.data === true ? 'global' : undefined
    case 'MustacheStatement':
      if ('escaped' in node && node.escaped === false) return 'unescaped'
      return hasArguments(node) ? 'helper' : undefined
    case 'SubExpression':
    case 'BlockStatement':
      return hasArguments(node) ? 'helper' : undefined
    default:
      return undefined
  }
}

/** The names of all uses of a kind. */
export function namesOf(kind: Use['kind'], uses: readonly Use[]): string[] {
  return uses.filter(use => use.kind === kind).map(({ name }) => name)
}

/** The names of all partials that are called. */
export function partialNames(uses: readonly Use[]): string[] {
  return [...namesOf('partial', uses), ...namesOf('layout', uses)]
}

/** The parts of a Handlebars syntax tree that are checked. */
interface Node {
  readonly type: string
  readonly loc?: { readonly start: { readonly line: number; readonly column: number } }
  readonly path?: Node
  readonly name?: Node
  readonly original?: unknown
  /** The text of a part without expressions. */
  readonly value?: unknown
  /** Whether a path begins with `@`, which its parts leave out. */
  readonly data?: boolean
  readonly parts?: readonly string[]
  /** How many levels above its place a path begins: 1 for `../books`. */
  readonly depth?: number
  readonly params?: readonly Node[]
  readonly hash?: { readonly pairs: readonly { readonly key: string; readonly value: Node }[] }
  readonly program?: Node
  readonly inverse?: Node
  readonly body?: readonly Node[]
}

/** Lists the nodes of the syntax tree of a template, each before its children. */
export function listNodes(ast: unknown): readonly Node[] {
  const nodes: Node[] = []
  const visit = (node: Node): void => {
    nodes.push(node)
    const children = [
      node.path,
      node.name,
      ...(node.params ?? []),
      ...(node.hash?.pairs.map(pair => pair.value) ?? []),
      ...(node.body ?? []),
      node.program,
      node.inverse,
    ]
    // A path expression has no children: its name is in its parent.
    for (const child of children) if (child !== undefined && typeof child === 'object') visit(child)
  }
  visit(ast as Node)
  return nodes
}

function hasArguments(node: Node): boolean {
  return node.params?.length !== 0 || node.hash !== undefined
}
