import type { FileChange } from './plan.ts'

/** Creates the line of an import. */
export function createImport(name: string, file: string): string {
  // In pieces, as a test searches all sources for imports.
  return [`import { ${name} }`, 'from', `'${file}'`].join(' ')
}

/** Sorts the imports at the beginning of a file; each is one line. */
export function orderImports(text: string): string {
  const lines = text.split('\n')
  const end = lines.findIndex(line => !isImport(line))
  return [...lines.slice(0, end).sort(compareImports), ...lines.slice(end)].join('\n')
}

/** Adds an import to those at the beginning of a file; `undefined` if these do not look as expected. */
export function addImport(text: string, added: string): string | undefined {
  const lines = text.split('\n')
  const end = lines.findIndex(line => !isImport(line))
  if (end < 1 || lines[end] !== '') return undefined
  const next = lines.slice(0, end).findIndex(line => compareImports(added, line) < 0)
  return lines.toSpliced(next === -1 ? end : next, 0, added).join('\n')
}

function isImport(line: string): boolean {
  return /^import .* from (['])[^']+\1$/.test(line)
}

/** The order of Biome: Node's modules, packages, files; of files, the most distant first. */
function compareImports(one: string, other: string): number {
  const [first, second] = [toSortable(specifierOf(one)), toSortable(specifierOf(other))]
  return rankOf(first) - rankOf(second) || (first < second ? -1 : 1)
}

function specifierOf(line: string): string {
  return line.slice(line.indexOf("'") + 1, -1)
}

function rankOf(specifier: string): number {
  if (specifier.startsWith('.')) return 2
  return specifier.startsWith('node:') ? 0 : 1
}

/** Numbers within texts count as numbers. */
function toSortable(text: string): string {
  return text.replace(/\d+/g, number => number.padStart(10, '0'))
}

/** The method `register` of a bundle, which is an object or a class. */
const empty = /^ {2}register\(\) \{\}/gm
const filled = /^( {2}(?:async )?register\(app(?:: Application)?\)(?:: [^{\n]+)? \{\n(?: {4}.*\n|\n)*)( {2}\})/gm

/** Adds a statement to the `register` of a bundle. */
export function registerInBundle(text: string | undefined, added: string, statement: string): FileChange {
  return { text: text && addStatement(text, added, statement), lines: [added, '// in register(app):', statement] }
}

function addStatement(text: string, added: string, statement: string): string | undefined {
  const changed = text
    .replace(empty, () => `  register(app) {\n    ${statement}\n  }`)
    .replace(filled, (_method, start: string, end: string) =>
      start.includes(statement) ? start + end : `${start}    ${statement}\n${end}`,
    )
  const isOnce = changed.split(statement).length === 2
  return isOnce && changed !== text ? addImport(changed, added) : undefined
}

const list = /^ {2}const bundles = \[([^[\]]*)\]$/m

/** Columns; Biome breaks longer lines. */
const widest = 120

/** Adds a bundle to the application's list of bundles. */
export function listBundle(text: string, bundle: string, file: string): FileChange {
  const added = createImport(bundle, file)
  return { text: addToList(text, bundle, added), lines: [added, '// in the list of bundles:', `${bundle},`] }
}

function addToList(text: string, bundle: string, added: string): string | undefined {
  const listed = list.exec(text)?.[1]
  if (listed === undefined) return undefined
  const names = listed.split(',').map(name => name.trim())
  const all = [...names.filter(name => name !== ''), bundle]
  const line = `  const bundles = [${all.join(', ')}]`
  const lines = ['  const bundles = [', ...all.map(name => `    ${name},`), '  ]'].join('\n')
  return addImport(
    text.replace(list, () => (line.length > widest || listed.includes('\n') ? lines : line)),
    added,
  )
}
