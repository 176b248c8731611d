/** Writes an import, of which there is one a line. */
export function createImport(name: string, file: string): string {
  // In pieces: tests look for imports in all sources.
  return [`import { ${name} }`, 'from', `'${file}'`].join(' ')
}

/** Puts the imports at the beginning of a file into their order; each is on one line. */
export function orderImports(text: string): string {
  const lines = text.split('\n')
  const end = lines.findIndex(line => !isImport(line))
  return [...lines.slice(0, end).sort(compareImports), ...lines.slice(end)].join('\n')
}

/** Adds an import to those at the beginning of a file; `undefined` where they are not as they are expected. */
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

/** As Biome sorts them: Node's own, packages, then files, the farthest first. */
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
