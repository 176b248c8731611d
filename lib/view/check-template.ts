/** The parts of a Handlebars syntax tree that are checked. */
export interface Node {
  readonly type: string
  readonly loc?: { readonly start: { readonly line: number } }
  readonly path?: Node
  readonly name?: Node
  readonly original?: unknown
  readonly params?: readonly Node[]
  readonly hash?: { readonly pairs: readonly { readonly value: Node }[] }
  readonly program?: Node
  readonly inverse?: Node
  readonly body?: readonly Node[]
}

/** The names that a template may use. */
export interface KnownNames {
  readonly templates: ReadonlySet<string>
  readonly helpers: ReadonlySet<string>
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

/** The names of a template's inline partials. */
export function inlinePartials(nodes: readonly Node[]): string[] {
  return nodes.filter(node => node.type === 'DecoratorBlock').map(node => String(node.params?.[0]?.original))
}

/**
 * Yields the mistakes that Handlebars would find only during a render: partials and helpers that do not exist, partials with
 * a computed name (no name may come from data), and unescaped output.
 */
export function* findMistakes(nodes: readonly Node[], known: KnownNames): Generator<string> {
  for (const node of nodes) {
    const mistake = mistakeOf(node, known)
    if (mistake !== undefined) yield `line ${node.loc?.start.line}: ${mistake}`
  }
}

function mistakeOf(node: Node, { templates, helpers }: KnownNames): string | undefined {
  switch (node.type) {
    case 'PartialStatement':
    case 'PartialBlockStatement': {
      if (node.name?.type === 'SubExpression') return 'a partial must be named, not computed'
      const name = String(node.name?.original)
      return name === '@partial-block' || templates.has(name) ? undefined : `there is no partial "${name}"`
    }
    case 'MustacheStatement':
      if ('escaped' in node && node.escaped === false) return 'output must be escaped: use two braces'
      return hasArguments(node) ? unknownHelper(node, helpers) : undefined
    case 'SubExpression':
    case 'BlockStatement':
      return hasArguments(node) ? unknownHelper(node, helpers) : undefined
    default:
      return undefined
  }
}

function hasArguments(node: Node): boolean {
  return node.params?.length !== 0 || node.hash !== undefined
}

function unknownHelper(node: Node, helpers: ReadonlySet<string>): string | undefined {
  const name = String(node.path?.original)
  return helpers.has(name) ? undefined : `there is no helper "${name}"`
}
