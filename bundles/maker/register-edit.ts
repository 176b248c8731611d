import type { BlockStatement, Program } from 'acorn'
import { addImport, createImport } from './imports.ts'
import type { FileChange } from './plan.ts'
import {
  applyEdits,
  type Edit,
  type FunctionNode,
  findValue,
  indentationAt,
  indentationUnit,
  isFunction,
  lineStart,
  listNodes,
  memberName,
  parseSource,
  type Source,
  unwrap,
} from './syntax.ts'

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
