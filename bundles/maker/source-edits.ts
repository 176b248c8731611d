import type { AnyNode, ArrayExpression, BlockStatement, ImportDeclaration, Program } from 'acorn'
import { compareFiles } from './import-order.ts'
import {
  applyEdits,
  type Edit,
  type FunctionNode,
  findValue,
  indentationAt,
  indentationUnit,
  isFunction,
  lineEnd,
  lineStart,
  listNodes,
  memberName,
  memberOf,
  parseSource,
  type Source,
  unwrap,
} from './syntax.ts'

/** The change of an existing file. */
export interface FileChange {
  /** The new content; `undefined` if the file does not look as expected. */
  readonly text: string | undefined
  /** The added lines. */
  readonly lines: readonly string[]
}

/** Adds a bundle to the list of bundles that `createBundles` returns, however it is written. */
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
    returned(findValue(program, 'createBundles')).flatMap(node => findArrays(program, node)),
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

/** Writes a statement for the `register` of a bundle. `app` is the name of its parameter. */
export type Statement = (app: string) => string

/** Adds a statement to the `register` of a bundle, however it is written. */
export function registerInBundle(text: string | undefined, added: string, statement: Statement): FileChange {
  const lines = [added, '// in register(app):', statement('app')]
  const source = text === undefined ? undefined : parseSource(text)
  return { text: source && addStatement(source, added, statement), lines }
}

function addStatement(source: Source, added: string, statement: Statement): string | undefined {
  const [register, ...others] = findRegisters(source.program)
  if (register === undefined || others.length > 0) return undefined
  const parameter = readParameter(source, register)
  if (parameter === undefined) return undefined
  const written = statement(parameter.name)
  if (source.text.includes(written)) return undefined
  const lines = [added, ...parameter.imports]
  const imports = lines.map(line => addImport(source, line)).filter(edits => edits !== undefined)
  if (imports.length < lines.length) return undefined
  return applyEdits(source, [
    ...imports.flat(),
    ...parameter.edits,
    ...editBody(source, register.call, parameter, written),
  ])
}

/** The function `register` of a bundle. */
interface Register {
  readonly call: FunctionNode
  /** Whether TypeScript knows the type of its parameter from the object that it belongs to. */
  readonly isTyped: boolean
}

/** Finds methods, and properties with a function or the name of one, of objects and classes. */
function findRegisters(program: Program): Register[] {
  return [...listNodes(program)].flatMap(node => {
    const isMember = node.type === 'Property' || node.type === 'MethodDefinition' || node.type === 'PropertyDefinition'
    if (!isMember || !node.value || memberName(node) !== 'register') return []
    const value = unwrap(node.value)
    const call = value.type === 'Identifier' ? findValue(program, value.name) : value
    if (call === undefined || !isFunction(call)) return []
    return [{ call, isTyped: node.type === 'Property' && call === value }]
  })
}

/** How the function names the application. */
interface Parameter {
  readonly name: string
  readonly edits: readonly Edit[]
  /** A statement that must be the first of the body. */
  readonly first?: string
  readonly imports: readonly string[]
}

function readParameter({ comments, text }: Source, { call, isTyped }: Register): Parameter | undefined {
  const [parameter] = call.params
  if (parameter === undefined) {
    let start = text.indexOf('(', call.start) + 1
    for (const comment of comments) {
      if (comment.start < start && start < comment.end) start = text.indexOf('(', comment.end) + 1
    }
    const added = isTyped ? 'app' : 'app: Application'
    const imports = isTyped ? [] : [createImport('Application', 'sinfonietta').replace('import', 'import type')]
    return { name: 'app', edits: [{ start, end: start, text: added }], imports }
  }
  if (parameter.type === 'Identifier') return { name: parameter.name, edits: [], imports: [] }
  const isTaken = [...listNodes(call)].some(node => node.type === 'Identifier' && node.name === 'app')
  if (parameter.type !== 'ObjectPattern' || isTaken) return undefined
  // The end of a pattern is that of its type annotation.
  const end = text.indexOf('}', parameter.properties.at(-1)?.end ?? parameter.start) + 1
  return {
    name: 'app',
    edits: [{ start: parameter.start, end, text: 'app' }],
    first: `const ${text.slice(parameter.start, end)} = app`,
    imports: [],
  }
}

function editBody({ program, text }: Source, { body }: FunctionNode, { first }: Parameter, written: string): Edit[] {
  const mark = program.body.some(({ end }) => text.charAt(end - 1) === ';') ? ';' : ''
  const [beginning, added] = [first === undefined ? [] : [`${first}${mark}`], `${written}${mark}`]
  const outer = indentationAt(text, body.start)
  const inner = outer + indentationUnit(text)
  const toBlock = (lines: readonly string[]) =>
    ['{', ...lines.filter(line => line !== '').map(line => `${inner}${line}`), `${outer}}`].join('\n')
  const { end, start } = body
  if (body.type !== 'BlockStatement') {
    const value = unwrap(body)
    const isVoid = value.type === 'UnaryExpression' && value.operator === 'void'
    const last = `${isVoid ? '' : 'return '}${text.slice(start, end)}${mark}`
    return [{ start, end, text: toBlock([...beginning, added, last]) }]
  }
  const place = placeIn(body)
  if (lineStart(text, place) > start && text.slice(lineStart(text, place), place).trim() === '') {
    const line = lineStart(text, place)
    const inside = body.body[0] === undefined ? inner : indentationAt(text, body.body[0].start)
    return [
      ...beginning.map(each => ({ start: start + 1, end: start + 1, text: `\n${inside}${each}` })),
      { start: line, end: line, text: `${inside}${added}\n` },
    ]
  }
  const [before, after] = [text.slice(start + 1, place).trim(), text.slice(place, end - 1).trim()]
  return [{ start, end, text: toBlock([...beginning, before, added, after]) }]
}

/** Before a `return` at the end, or the end. */
function placeIn({ body, end }: BlockStatement): number {
  const last = body.at(-1)
  return last?.type === 'ReturnStatement' ? last.start : end - 1
}

/** Creates the line of an import. */
export function createImport(name: string, file: string): string {
  // The text is in pieces, because a test searches all sources for imports.
  return [`import { ${name} }`, 'from', `'${file}'`].join(' ')
}

/** Adds an import to those of a file, in the style of the file. Returns `undefined` if the file uses the name for another import. */
export function addImport(source: Source, added: string): Edit[] | undefined {
  const { text, program } = source
  const [declaration] = listImports(parseSource(added)?.program)
  if (declaration === undefined) return undefined
  const file = fileOf(declaration)
  const imports = listImports(program)
  const same = imports.find(each => namesOf(each).some(name => namesOf(declaration).includes(name)))
  if (same !== undefined) return fileOf(same) === file ? [] : undefined
  const [first] = imports
  if (first === undefined) {
    const start = text.startsWith('#!') ? text.indexOf('\n') + 1 : 0
    return [{ start, end: start, text: `${added}\n\n` }]
  }
  const line = toStyleOf(first, added, text)
  const before = imports.findLast(each => compareFiles(fileOf(each), file) <= 0)
  if (before === undefined) return [{ start: first.start, end: first.start, text: `${line}\n` }]
  const start = lineEnd(text, before.end)
  return [{ start, end: start, text: `\n${line}` }]
}

function listImports(program: Program | undefined): ImportDeclaration[] {
  return program?.body.filter(node => node.type === 'ImportDeclaration') ?? []
}

function fileOf({ source }: ImportDeclaration): string {
  return String(source.value)
}

function namesOf({ specifiers }: ImportDeclaration): string[] {
  return specifiers.map(({ local }) => local.name)
}

/** Quotes and semicolon as in another import of the file. */
function toStyleOf({ end, source }: ImportDeclaration, line: string, text: string): string {
  const quoted = line.replaceAll("'", text.charAt(source.start))
  return text.charAt(end - 1) === ';' ? `${quoted};` : quoted
}
