import path from 'node:path'
import type { AnyNode, Expression, Property, SpreadElement } from 'acorn'
import { docBefore, readSource } from './doc-comments.ts'
import { type Source, unwrap } from './syntax.ts'

/** A part of a JSON Schema. */
type Part = Record<string, unknown>

/** An expression, and the file that it is in. */
interface Place {
  readonly file: string
  readonly node: AnyNode
}

const folder = 'bundles/profiler'

/** The schemas that are parts with a name, wherever they are used. */
const named: Readonly<Record<string, string>> = {
  pairs: 'pairs',
  treeSchema: 'tree',
  contentSchema: 'content',
  messageSchema: 'message',
  recordedException: 'exception',
  codePlace: 'place',
  caller: 'caller',
  summarySchema: 'summary',
}

/**
 * The named parts that are generated, with their files. `pairs`, and the rows of {@link guards}, are written by hand.
 */
const generated: readonly (readonly [constant: string, file: string])[] = [
  ['treeSchema', `${folder}/profile/schema.ts`],
  ['contentSchema', `${folder}/profile/content.ts`],
  ['messageSchema', `${folder}/profile/content.ts`],
  ['recordedException', `${folder}/profile/code.ts`],
  ['codePlace', `${folder}/profile/code.ts`],
  ['caller', `${folder}/profile/code.ts`],
  ['summarySchema', `${folder}/profile/document-schema.ts`],
]

/** The values that a function accepts in `v.custom(isNumber)`. */
const guards: Readonly<Record<string, Part>> = {
  isNumber: { type: 'number' },
  isAmount: { type: 'number', minimum: 0 },
  isCount: { type: 'integer', minimum: 0 },
  isObject: { type: 'object' },
  isToken: { $ref: '#/$defs/token' },
  isSpanRow: { $ref: '#/$defs/span' },
  isCpuRow: { $ref: '#/$defs/cpuCall' },
}

/** Fields that the profiles of earlier versions do not have: the code reads their default. */
const later: readonly string[] = ['isDebugAllowed', 'blocks', 'settings']

/**
 * Writes the JSON Schema of a profile: the parts that the code has a schema of are made from its
 * syntax and doc comments.
 */
export function writeProfileSchema(before: string): string {
  const schema = JSON.parse(before) as { readonly $defs: Readonly<Record<string, Part>> }
  const parts = new Map(generated.map(([constant, file]) => [String(named[constant]), describe(constant, file)]))
  for (const [kind, list] of [
    ['data', 'collectorSchemas'],
    ['process', 'processSchemas'],
  ] as const) {
    const file = `${folder}/subjects/schemas.ts`
    const properties: Part = {}
    for (const { key, value } of propertiesOf(find(list, file))) {
      properties[key] = { $ref: `#/$defs/${kind}.${key}` }
      const { name } = value.node as AnyNode & { name: string }
      parts.set(`${kind}.${key}`, describe(name, file))
    }
    parts.set(kind, { ...schema.$defs[kind], properties })
  }
  // A part that is no longer there has no part of the code.
  const kept = Object.entries(schema.$defs).filter(([name]) => parts.has(name) || !/^(?:data|process)\./.test(name))
  const $defs = { ...Object.fromEntries(kept), ...Object.fromEntries(parts) }
  return formatJson({ ...schema, $defs })
}

/** The part of a constant, with the doc comment of its type. */
function describe(constant: string, file: string): Part {
  const place = find(constant, file)
  const description = docOf(constant, place.file)
  const { $ref, ...part } = convert(place, false)
  return { ...(description && { description }), ...part, ...($ref !== undefined && { $ref }) }
}

const sources = new Map<string, Source>()

function open(file: string): Source {
  const source = sources.get(file) ?? readSource(file)
  sources.set(file, source)
  return source
}

/** The value of a constant of a file, or of the file that it is imported from. */
function find(name: string, file: string): Place {
  for (const statement of open(file).program.body) {
    if (statement.type === 'ImportDeclaration') {
      const isOf = statement.specifiers.some(({ local }) => local.name === name)
      if (isOf) return find(name, path.join(path.dirname(file), String(statement.source.value)))
    }
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration') continue
    for (const { id, init } of declaration.declarations) {
      if (id.type === 'Identifier' && id.name === name && init) return { file, node: unwrap(init) }
    }
  }
  throw new Error(`${file} has no constant ${name}.`)
}

/**
 * The doc comment of the type that is inferred from a schema, of the type that is its annotation,
 * or of the constant itself.
 */
function docOf(constant: string, file: string): string {
  const source = open(file)
  const textOf = ({ end, start }: AnyNode) => source.text.slice(start, end)
  const own = source.program.body.find(node => new RegExp(`^(?:export )?const ${constant}\\b`).test(textOf(node)))
  const [, annotation = ''] = (own && /^[^=]*?: Schema<(\w+)> =/.exec(textOf(own))) ?? []
  const type = source.program.body.find(node => {
    const text = textOf(node)
    return (
      text.endsWith(`= v.InferOutput<typeof ${constant}>`) ||
      new RegExp(`^export (?:interface|type) ${annotation} `).test(text)
    )
  })
  return toPlain((type && docBefore(source, type)) || (own ? docBefore(source, own) : ''))
}

/** Doc comments have Markdown, and links to other names. */
function toPlain(doc: string): string {
  return doc.replace(/\{@link (\w+)\}/g, '$1').replaceAll('`', '')
}

/** The keys and values of an object, with those of the objects that are spread in it. */
function propertiesOf({ file, node }: Place): { key: string; value: Place; doc: string }[] {
  if (node.type === 'Identifier') return propertiesOf(find(node.name, file))
  const { properties } = node as AnyNode & { properties: readonly (Property | SpreadElement)[] }
  return properties.flatMap(property => {
    if (property.type === 'SpreadElement') return propertiesOf({ file, node: unwrap(property.argument) })
    const { name } = property.key as AnyNode & { name: string }
    return [{ key: name, value: { file, node: unwrap(property.value) }, doc: toPlain(docBefore(open(file), property)) }]
  })
}

/** The part of an expression. A constant with a name among the parts is a reference, unless it is the part itself. */
function convert({ file, node }: Place, isInner = true): Part {
  const of = (inner: AnyNode | undefined) => convert({ file, node: unwrap(inner as AnyNode) })
  if (node.type === 'Identifier') {
    const part = named[node.name]
    return part !== undefined && isInner ? { $ref: `#/$defs/${part}` } : convert(find(node.name, file))
  }
  if (node.type === 'MemberExpression') return convert(member(node, file))
  if (node.type === 'ArrowFunctionExpression') return of(node.body)
  if (node.type !== 'CallExpression') throw new Error(`${file} has a schema of an unknown form: ${node.type}`)
  const [first, second] = node.arguments
  const name = open(file).text.slice(node.callee.start, node.callee.end).replace(/^v\./, '')
  switch (name) {
    case 'string':
      return { type: 'string' }
    case 'number':
      return { type: 'number' }
    case 'boolean':
      return { type: 'boolean' }
    case 'unknown':
      return {}
    case 'custom':
      return customPart(first, file)
    case 'literal':
      return { const: literal({ file, node: first as AnyNode }) }
    case 'oneOf':
    case 'picklist':
      return { enum: literal({ file, node: first as AnyNode }) }
    case 'maybe':
    case 'optional':
    case 'nonOptional':
    case 'fallback':
    case 'lazy':
      return of(first)
    case 'nullable':
      return orNull(of(first))
    case 'list':
    case 'indexedList':
    case 'array':
      return { type: 'array', items: of(first) }
    case 'record':
      return { type: 'object', additionalProperties: of(second) }
    case 'union':
      return { anyOf: elements(first).map(of) }
    case 'variant':
      return { oneOf: elements(second).map(of) }
    case 'tuple': {
      const items = elements(first).map(of)
      return { type: 'array', prefixItems: items, minItems: items.length, maxItems: items.length }
    }
    case 'pipe':
      return Object.assign({}, ...node.arguments.map(of))
    case 'regex':
      return { pattern: (first as AnyNode & { regex: { pattern: string } }).regex.pattern.replaceAll('\\d', '0-9') }
    case 'maxValue':
      return { maximum: literal({ file, node: first as AnyNode }) }
    case 'object':
    case 'section':
      return objectPart({ file, node: unwrap(first as AnyNode) })
    default:
      throw new Error(`${file} has a schema of an unknown function: ${name}`)
  }
}

function objectPart(place: Place): Part {
  const all = propertiesOf(place)
  const properties = all.map(
    ({ doc, key, value }) => [key, { ...(doc && { description: doc }), ...convert(value) }] as const,
  )
  const required = all.filter(({ key, value }) => !later.includes(key) && !isOptional(value)).map(({ key }) => key)
  return { type: 'object', properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) }
}

/** A field with a default is always there: only summaries have some, and these are parsed before they are shown. */
function isOptional({ file, node }: Place): boolean {
  if (node.type === 'Identifier') return named[node.name] === undefined && isOptional(find(node.name, file))
  if (node.type !== 'CallExpression') return false
  const name = open(file).text.slice(node.callee.start, node.callee.end)
  return name === 'maybe' || (name === 'v.optional' && node.arguments.length === 1)
}

function customPart(guard: AnyNode | undefined, file: string): Part {
  const part = guards[(guard as AnyNode & { name: string }).name]
  if (part === undefined) throw new Error(`${file} has a check without a part of the schema.`)
  return part
}

function orNull(part: Part): Part {
  return typeof part.type === 'string' ? { ...part, type: [part.type, 'null'] } : { anyOf: [part, { type: 'null' }] }
}

function member(node: AnyNode & { type: 'MemberExpression' }, file: string): Place {
  const { object, property } = node as unknown as { object: { name: string }; property: { name: string } }
  const found = propertiesOf(find(object.name, file)).find(({ key }) => key === property.name)
  if (found === undefined) throw new Error(`${file} has no ${object.name}.${property.name}.`)
  return found.value
}

function elements(node: AnyNode | undefined): Expression[] {
  return (node as AnyNode & { elements: Expression[] }).elements
}

/** The value of a literal, a list of literals, or a constant with one. */
function literal({ file, node: outer }: Place): unknown {
  const node = unwrap(outer)
  if (node.type === 'Identifier') return literal(find(node.name, file))
  if (node.type === 'Literal') return node.value
  return elements(node).flatMap(element =>
    (element as AnyNode).type === 'SpreadElement'
      ? literal({ file, node: (element as unknown as SpreadElement).argument })
      : [literal({ file, node: element })],
  )
}

/** JSON as the formatter writes it: a list of simple values is one line, if there is room. */
function formatJson(value: unknown): string {
  const list = /^( *)(.*)\[\n((?:\s+(?:"[^"]*"|[\w.-]+|\{\}),?\n)+) *\](,?)$/gm
  const text = JSON.stringify(value, null, 2).replace(list, (whole, indent, start, items, comma) => {
    const line = `${indent}${start}[${String(items).trim().replace(/,\s+/g, ', ')}]${comma}`
    return line.length <= 120 ? line : whole
  })
  return `${text}\n`
}
