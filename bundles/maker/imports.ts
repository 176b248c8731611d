import type { ImportDeclaration, Program } from 'acorn'
import { applyEdits, type Edit, lineEnd, parseSource, type Source } from './syntax.ts'

/** Creates the line of an import. */
export function createImport(name: string, file: string): string {
  // In pieces, as a test searches all sources for imports.
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

/** Sorts the imports of a text, and the names in each of them. */
export function orderImports(text: string): string {
  const source = parseSource(text)
  const imports = listImports(source?.program)
  const sorted = imports
    .toSorted((one, other) => compareFiles(fileOf(one), fileOf(other)))
    .map(each => withSortedNames(each, text))
  const edits = imports.map(({ start, end }, index) => ({ start, end, text: sorted[index] ?? '' }))
  return (source && applyEdits(source, edits)) ?? text
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

function withSortedNames({ end, specifiers, start }: ImportDeclaration, text: string): string {
  const names = specifiers.toSorted((one, other) =>
    one.local.name.toLowerCase() < other.local.name.toLowerCase() ? -1 : 1,
  )
  const [first, last] = [specifiers[0], specifiers.at(-1)]
  if (first === undefined || last === undefined) return text.slice(start, end)
  const list = names.map(each => text.slice(each.start, each.end)).join(', ')
  return text.slice(start, first.start) + list + text.slice(last.end, end)
}

/** The order of Biome: Node's modules, packages, files; of files, the most distant first. */
function compareFiles(one: string, other: string): number {
  const [first, second] = [toSortable(one), toSortable(other)]
  return rankOf(first) - rankOf(second) || Number(first > second) - Number(first < second)
}

function rankOf(file: string): number {
  if (file.startsWith('.')) return 2
  return file.startsWith('node:') ? 0 : 1
}

/** Numbers within texts count as numbers. */
function toSortable(text: string): string {
  return text.replace(/\d+/g, number => number.padStart(10, '0'))
}
