import { showPath } from '../stack/stack-frames.ts'
import { suggestNames } from '../text/mistakes.ts'
import { createHandlebars } from './handlebars.ts'
import { readTemplate, type TemplateFile } from './template-files.ts'

/** Parses a template to a syntax tree. @throws Error for a mistake of its grammar */
export type Parse = (source: string) => unknown

/**
 * What a template uses: a partial, as a layout if it is called with a block, an inline partial that it
 * defines, a helper, a value or a section (`{{#name}}`), which call the helper of their name if there
 * is one, or a global; and what it may not have: a computed name of a partial, another decorator than
 * an inline partial with its name in quotes, an operator, and unescaped output.
 */
export interface Use {
  readonly kind:
    | 'partial'
    | 'layout'
    | 'inline'
    | 'helper'
    | 'value'
    | 'section'
    | 'global'
    | 'computed'
    | 'decorator'
    | 'operator'
    | 'unescaped'
  readonly name: string
  readonly line: number
  readonly column: number
  /** Whether the block of a layout has more than inline partials. */
  readonly hasContent?: boolean
  /** The names of the values that the call of a partial passes. */
  readonly passed?: readonly string[]
  /** How a helper is called. */
  readonly call?: WrittenCall
  /** Where a helper is called: as a block, in the text of the page, or as an argument in parentheses. */
  readonly form?: 'block' | 'text' | 'argument'
}

/** The call of a helper as a template contains it. `undefined` is a value that is known when a page is rendered. */
export interface WrittenCall {
  readonly positional: readonly unknown[]
  readonly named: Readonly<Record<string, unknown>>
}

/** What the templates of the last check use, by their texts: to parse them takes most of the time of a start. */
let known: ReadonlyMap<string, readonly Use[]> = new Map()

/** Creates a function that reads what a template uses. The next reader knows the texts that this one has read. */
export function createReader(parse: Parse): (source: string) => readonly Use[] {
  const before = known
  const read = new Map<string, readonly Use[]>()
  known = read
  return source => {
    const uses = before.get(source) ?? readUses(listNodes(parse(source)))
    read.set(source, uses)
    return uses
  }
}

/** Parses templates ahead of a check. */
export function parseAhead(files: readonly TemplateFile[], parse: Parse): void {
  const read = createReader(parse)
  for (const { file } of files) read(readTemplate(file))
}

function readUses(nodes: readonly Node[]): readonly Use[] {
  // `{{#each books as |url|}}`: the block has a value of this name.
  const shadowed = new Set(nodes.flatMap(({ blockParams = [] }) => blockParams))
  return nodes
    .flatMap(toUse)
    .filter(({ kind, name }) => (kind !== 'value' && kind !== 'section') || !shadowed.has(name))
}

function toUse(node: Node): Use | [] {
  const kind = kindOf(node)
  if (kind === undefined) return []
  const { hash, name: partial, params = [], parts, path } = node
  const isCall = kind === 'helper' || kind === 'value' || kind === 'section'
  const names = { inline: params[0]?.original, global: parts?.[0] }
  const called = isCall || kind === 'unescaped' ? path : partial
  const name = String(kind in names ? names[kind as keyof typeof names] : called?.original)
  const use: Use = { kind, name, line: node.loc?.start.line ?? 1, column: (node.loc?.start.column ?? 0) + 1 }
  const named = hash?.pairs.map(({ key, value }) => [key, constantOf(value)] as const) ?? []
  const passed = named.map(([key]) => key)
  if (kind === 'layout') return { ...use, passed, hasContent: node.program?.body?.some(isShown) ?? false }
  if (!isCall) return kind === 'partial' ? { ...use, passed } : use
  const form = forms[node.type as keyof typeof forms]
  return { ...use, form, call: { positional: params.map(constantOf), named: Object.fromEntries(named) } }
}

const forms = { BlockStatement: 'block', MustacheStatement: 'text', SubExpression: 'argument' } as const

function constantOf({ type, value }: Node): unknown {
  return type === 'NullLiteral' ? null : value
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
      return node.path?.original === 'inline' && node.params?.[0]?.type === 'StringLiteral' ? 'inline' : 'decorator'
    case 'PathExpression':
      return node.data === true ? 'global' : undefined
    case 'MustacheStatement':
      if ('escaped' in node && node.escaped === false) return 'unescaped'
      if (hasOperator(node)) return 'operator'
      return hasArguments(node) ? 'helper' : 'value'
    case 'SubExpression':
    case 'BlockStatement':
      if (hasOperator(node)) return 'operator'
      return hasArguments(node) ? 'helper' : 'section'
    default:
      return undefined
  }
}

/** Whether an argument is a sign, which Handlebars reads as a name: `{{a ? 1 : 2}}`, `{{a ?? b}}`, `{{a - 1}}`. */
function hasOperator({ params = [] }: Node): boolean {
  return params.some(({ original, type }) => type === 'PathExpression' && /^[?:-]+$/.test(String(original)))
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
export interface Node {
  readonly type: string
  readonly loc?: { readonly start: { readonly line: number; readonly column: number } }
  readonly path?: Node
  readonly name?: Node
  readonly original?: unknown
  /** The text of a part without expressions, or the value of a constant. */
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
  /** The names that a block gives to values: `books as |book|`. */
  readonly blockParams?: readonly string[]
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

/** A call of a partial in a template. */
interface PartialCall extends Use {
  readonly file: string
}

/** A template, its syntax tree as a list, and its calls of partials. */
interface ReadTemplate extends TemplateFile {
  readonly nodes: readonly Node[]
  readonly uses: readonly Use[]
  readonly calls: readonly PartialCall[]
}

/**
 * The syntax tree of a template as a list; empty if the file has changed since it was loaded, and has a mistake now.
 */
export function readNodes(file: string): readonly Node[] {
  try {
    return listNodes(createHandlebars().parseWithoutProcessing(readTemplate(file)))
  } catch {
    return []
  }
}

/** Reads the calls of a helper in a template. */
export function readHelperCalls(file: string, helper: string): readonly (WrittenCall & Pick<Use, 'line'>)[] {
  return readUses(readNodes(file)).flatMap(({ call, line, name }) =>
    name === helper && call !== undefined ? { ...call, line } : [],
  )
}

/** Reads a template again, with its calls of partials. */
export function readTemplateCalls(template: TemplateFile): ReadTemplate {
  const nodes = readNodes(template.file)
  const uses = readUses(nodes)
  const calls = uses.filter(({ kind }) => kind === 'partial' || kind === 'layout')
  return { ...template, nodes, uses, calls: calls.map(use => ({ ...use, file: template.file })) }
}

/** Reads the templates that render a page: it, and those that it calls, directly or not. */
function readReached(page: string, files: readonly TemplateFile[]): ReadTemplate[] {
  const names = new Set([page])
  const reached: ReadTemplate[] = []
  // A set may grow while it is iterated.
  for (const name of names) {
    const file = files.find(each => each.name === name)
    if (file === undefined) continue
    const template = readTemplateCalls(file)
    reached.push(template)
    for (const call of template.calls) names.add(call.name)
  }
  return reached
}

/** The templates of a page that has failed. */
export interface PageTemplates {
  readonly name: string
  /** All templates. */
  readonly files: readonly TemplateFile[]
  /** The directory to which the names of files are relative. */
  readonly root: string
}

/**
 * Explains why a page has no partial that one of its templates calls: it is the block of a call
 * that has none, or an inline partial that the page does not define. Handlebars says only its name.
 */
export function explainPartial(name: string, { files, name: page, root }: PageTemplates) {
  const reached = readReached(page, files)
  const explain = (call: PartialCall, reason: string) => explainCall(call, reason, root)
  if (name !== '@partial-block') {
    const inline = reached.flatMap(({ uses }) => namesOf('inline', uses))
    const call = reached.flatMap(({ calls }) => calls).find(call => call.name === name)
    const advice = `a page defines it in the block of its layout: {{#*inline "${name}"}}…{{/inline}}`
    return call && explain(call, `finds no partial "${name}"${suggestNames(name, inline)}: ${advice}`)
  }
  const layouts = reached.filter(each => insertsBlock(each) && !asksForBlock(each)).map(each => each.name)
  if (layouts.includes(page)) {
    const reason = `it is a layout, which inserts the block of its caller: render a template that calls {{#> ${page}}}`
    return { reason, place: undefined }
  }
  const call = reached
    .flatMap(({ calls }) => calls)
    .find(({ kind, name }) => kind === 'partial' && layouts.includes(name))
  const block = `{{#> ${call?.name}}}…{{/${call?.name}}}`
  return call && explain(call, `has no block, which the partial inserts: write ${block}`)
}

/** Explains a render without an end: a template of the page that calls itself, directly or by others. */
export function explainCycle({ files, name: page, root }: PageTemplates) {
  for (const { calls, name } of readReached(page, files)) {
    const call = calls.find(call => readReached(call.name, files).some(each => each.name === name))
    if (call !== undefined) return explainCall(call, `leads back to "${name}", without an end`, root)
  }
  return undefined
}

function explainCall(call: PartialCall, reason: string, root: string) {
  const { column, file, line } = call
  return {
    reason: `${showPath(file, root)}: line ${line}: ${writeCall(call)} ${reason}`,
    place: { file, line, column },
  }
}

function writeCall({ kind, name }: PartialCall): string {
  return `{{${kind === 'layout' ? '#' : ''}> ${name}}}`
}

function insertsBlock({ calls }: ReadTemplate): boolean {
  return calls.some(({ name }) => name === '@partial-block')
}

/** Whether a template checks that it is called with a block: `{{#if @partial-block}}`. */
function asksForBlock({ nodes }: ReadTemplate): boolean {
  const names = new Set(nodes.map(({ name }) => name))
  return nodes.some(node => node.original === '@partial-block' && !names.has(node))
}

/**
 * The call of a partial that does not pass a value which the partial needs, with its place. `undefined` if
 * several calls are possible, or if the value is one of an item, in a block of `{{#each}}` or `{{#with}}`.
 */
export function findIncompleteCall(
  key: string,
  { column, file, line }: Pick<PartialCall, 'column' | 'file' | 'line'>,
  { files, name: page, root }: PageTemplates,
): string | undefined {
  const reached = readReached(page, files)
  const failed = reached.find(each => each.file === file)
  if (failed === undefined || failed.name === page) return undefined
  const items = failed.nodes.filter(
    ({ path, type }) => type === 'BlockStatement' && changing.has(String(path?.original)),
  )
  const isFailed = ({ loc }: Node) => loc?.start.line === line && loc.start.column === column - 1
  if (items.some(({ program }) => listNodes(program).some(isFailed))) return undefined
  const calls = reached.flatMap(({ calls }) => calls).filter(({ name }) => name === failed.name)
  const [call] = calls
  if (call === undefined || calls.length > 1 || call.passed?.includes(key)) return undefined
  return `${writeCall(call)} in ${showPath(call.file, root)}: line ${call.line}`
}

/** The helpers whose blocks have other data. */
const changing: ReadonlySet<string> = new Set(['each', 'with'])
