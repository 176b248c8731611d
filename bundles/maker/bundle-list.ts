import { addImport, createImport } from './imports.ts'
import type { Change } from './plan.ts'

const list = /^ {2}const bundles = \[([^[\]]*)\]$/m

/** Columns; Biome writes what is longer as several lines. */
const widest = 120

/** Adds a bundle to the list of those of the application. */
export function listBundle(text: string, bundle: string, file: string): Change {
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
