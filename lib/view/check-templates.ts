import { suggestNames } from '../text/nearest-names.ts'
import { showPath } from '../text/show-path.ts'
import { VIEW_TEMPLATE_INVALID } from './errors.ts'
import { dataNames } from './globals.ts'
import { bundleOf, readTemplate, type TemplateFile } from './template-files.ts'
import { addFrames, type TemplatePlace } from './template-frames.ts'

/** What a check needs of the template engine. */
export interface TemplateEngine {
  /** Returns the syntax tree of a template. @throws Error for a mistake of its grammar */
  parse(source: string): unknown
  readonly helpers: ReadonlySet<string>
  readonly globals: ReadonlySet<string>
}

/**
 * Parses all templates: Handlebars itself would compile them, and find their mistakes, at the first render. `sources` are
 * their texts by name. Messages show files below the directory relative to it. The callback lists templates that are not
 * used, because their bundles are not in the list: they may be the reason of a mistake. Returns the globals that pages and
 * their partials use, by the names of the pages; pages without any are left out.
 *
 * @throws VIEW_TEMPLATE_INVALID with every mistake
 */
export function checkTemplates(
  files: readonly TemplateFile[],
  sources: ReadonlyMap<string, string>,
  { globals, helpers, parse }: TemplateEngine,
  directory: string,
  listUnlisted: () => readonly TemplateFile[],
): ReadonlyMap<string, readonly string[]> {
  const mistakes: Mistake[] = []
  const show = (file: string) => showPath(file, directory)
  const parsed = files.flatMap(({ file, name, replaces }) => {
    try {
      const nodes = listNodes(parse(sources.get(name) ?? ''))
      return {
        file,
        name,
        nodes,
        replaces,
        replaced: replaces === undefined ? [] : listNodes(parse(readTemplate(replaces))),
      }
    } catch (error) {
      // Handlebars throws errors.
      const { message } = error as Error
      mistakes.push({ name, file, text: `${show(file)}: ${explain(message)}`, ...readPlace(message) })
      return []
    }
  })
  // The inline partials of replaced templates, too: a layout that needs one of them has no mistake of its own.
  const inline = parsed.flatMap(({ nodes, replaced }) => inlinePartials([...nodes, ...replaced]))
  const templates = new Set([...sources.keys(), ...inline])
  const explainMissing = (name: string) => {
    const unlisted = listUnlisted()
    const file = unlisted.find(each => each.name === name)?.file
    const reason = `no bundle "${bundleOf(name)}" is in the list of bundles`
    if (file !== undefined) return `: the file ${show(file)} exists, but ${reason}`
    // A page of a bundle that is not in the list fills this part of a layout.
    return unlisted.some(each => definesInline(each, name, parse)) ? undefined : ''
  }
  const known = { templates, helpers, globals, explainMissing }
  for (const { file, name, nodes, replaced, replaces } of parsed) {
    for (const { text, ...place } of findMistakes(nodes, known)) {
      mistakes.push({ name, file, text: `${show(file)}: line ${place.line}: ${text}`, ...place })
    }
    for (const loss of findLosses(nodes, replaced, name => sources.has(name))) {
      mistakes.push({
        name,
        file,
        text: `${show(file)}: it replaces ${show(replaces ?? '')}, ${loss}`,
        line: 1,
        column: 1,
      })
    }
  }
  if (mistakes.length === 0) return findGlobals(parsed, globals)
  throw addFrames(new VIEW_TEMPLATE_INVALID([mistakes.map(({ text }) => text).join('\n')]), mistakes)
}

/** A mistake in a template, and its place. */
interface Mistake extends TemplatePlace {
  /** The message, with the file and the line. */
  readonly text: string
}

/** The place that a syntax error of Handlebars names: `Parse error on line 3`, or `x doesn't match y - 3:5`. */
function readPlace(message: string): Pick<TemplatePlace, 'line' | 'column'> {
  const found = /(?: on line |- )(\d+)(?::(\d+))?/.exec(message)
  return { line: Number(found?.[1] ?? 1), column: Number(found?.[2] ?? 0) + 1 }
}

/** The place where a template calls a partial; none if it does not call it exactly once. */
export function findCall(
  tree: unknown,
  partial: string,
  template: Pick<TemplatePlace, 'name' | 'file'>,
): TemplatePlace[] {
  const calls = listNodes(tree).filter(node => isPartial(node) && node.name?.original === partial)
  const start = calls.length === 1 ? calls[0]?.loc?.start : undefined
  return start === undefined ? [] : [{ ...template, line: start.line, column: start.column + 1 }]
}

function isPartial({ type }: Node): boolean {
  return type === 'PartialStatement' || type === 'PartialBlockStatement'
}

/** At the end of a file, an error of the grammar mostly means that a block has no end. */
function explain(message: string): string {
  return message.endsWith("got 'EOF'") ? `${message}\nA block such as {{#if …}} has no end.` : message
}

/** The parts of a Handlebars syntax tree that are checked. */
interface Node {
  readonly type: string
  readonly loc?: { readonly start: { readonly line: number; readonly column: number } }
  readonly path?: Node
  readonly name?: Node
  readonly original?: unknown
  /** Whether a path begins with `@`, which its parts leave out. */
  readonly data?: boolean
  readonly parts?: readonly string[]
  readonly params?: readonly Node[]
  readonly hash?: { readonly pairs: readonly { readonly value: Node }[] }
  readonly program?: Node
  readonly inverse?: Node
  readonly body?: readonly Node[]
}

/** The names that a template may use. */
interface KnownNames {
  readonly templates: ReadonlySet<string>
  readonly helpers: ReadonlySet<string>
  readonly globals: ReadonlySet<string>
  /** Returns the end of the message about a missing partial; `undefined` if it is no mistake. */
  readonly explainMissing: (name: string) => string | undefined
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

/** The globals that templates use, in themselves and in their partials. */
function findGlobals(
  templates: readonly { readonly name: string; readonly nodes: readonly Node[] }[],
  globals: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const used = new Map<string, readonly string[]>()
  if (globals.size === 0) return used
  const byName = new Map(templates.map(each => [each.name, each.nodes]))
  for (const { name } of templates) {
    const reached = new Set([name])
    // A set may grow while it is iterated.
    for (const each of reached) for (const partial of partialNames(byName.get(each) ?? [])) reached.add(partial)
    const nodes = [...reached].flatMap(each => byName.get(each) ?? [])
    const own = nodes.flatMap(({ data, parts: [global] = [] }) =>
      data && global && globals.has(global) ? [global] : [],
    )
    if (own.length > 0) used.set(name, [...new Set(own)])
  }
  return used
}

/** The names of a template's inline partials. */
function inlinePartials(nodes: readonly Node[]): string[] {
  return nodes.filter(({ type }) => type === 'DecoratorBlock').map(({ params }) => String(params?.[0]?.original))
}

/** Whether a template has an inline partial. Mistakes of its grammar do not matter: it is not used. */
function definesInline({ file }: TemplateFile, name: string, parse: TemplateEngine['parse']): boolean {
  try {
    return inlinePartials(listNodes(parse(readTemplate(file)))).includes(name)
  } catch {
    return false
  }
}

/**
 * Yields the mistakes that Handlebars would find only during a render: partials and helpers that do not exist, partials with
 * a computed name (no name may come from data), and unescaped output.
 */
function* findMistakes(
  nodes: readonly Node[],
  known: KnownNames,
): Generator<Pick<Mistake, 'text' | 'line' | 'column'>> {
  for (const node of nodes) {
    const mistake = mistakeOf(node, known)
    if (mistake === undefined) continue
    yield { text: mistake, line: node.loc?.start.line ?? 1, column: (node.loc?.start.column ?? 0) + 1 }
  }
}

function mistakeOf(node: Node, { explainMissing, globals, helpers, templates }: KnownNames): string | undefined {
  switch (node.type) {
    case 'PartialStatement':
    case 'PartialBlockStatement': {
      if (node.name?.type === 'SubExpression') return 'a partial must be named, not computed'
      const name = String(node.name?.original)
      if (name === '@partial-block' || templates.has(name)) return undefined
      const end = explainMissing(name)
      return end === undefined ? undefined : `there is no partial "${name}"${end}`
    }
    case 'MustacheStatement':
      if ('escaped' in node && node.escaped === false) return 'output must be escaped: use two braces'
      return hasArguments(node) ? unknownHelper(node, helpers) : undefined
    case 'PathExpression': {
      const name = node.data === true ? node.parts?.[0] : undefined
      if (name === undefined || dataNames.has(name) || globals.has(name)) return undefined
      return `there is no global "@${name}"${suggestNames(name, globals)}`
    }
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

/**
 * Yields what a template lacks of a template that it replaces: partials that others fill (the content of a layout), and
 * inline partials for a layout that both use. Without them a page would be incomplete, or fail during its render.
 */
function* findLosses(
  nodes: readonly Node[],
  replaced: readonly Node[],
  isFile: (name: string) => boolean,
): Generator<string> {
  const holes = new Set(partialNames(nodes))
  for (const name of new Set(partialNames(replaced))) {
    if (!isFile(name) && !holes.has(name)) yield `which renders the partial "${name}": render it, too`
  }
  const layouts = new Set(layoutNames(nodes))
  const layout = layoutNames(replaced).find(name => layouts.has(name))
  const defined = new Set(inlinePartials(nodes))
  for (const name of layout === undefined ? [] : inlinePartials(replaced)) {
    if (!defined.has(name)) yield `which has the inline partial "${name}" for "${layout}": define it, too`
  }
}

function partialNames(nodes: readonly Node[]): string[] {
  return nodes.filter(isPartial).map(({ name }) => String(name?.original))
}

/** The partials that are called with a block. */
function layoutNames(nodes: readonly Node[]): string[] {
  return partialNames(nodes.filter(({ type }) => type === 'PartialBlockStatement'))
}
