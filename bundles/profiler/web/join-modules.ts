import { readFileSync } from 'node:fs'
import path from 'node:path'

const importLine = /^import \{ (.+) \} from ["']\.\/([\w-]+\.js)["'];\n/gm
const exportWord = /^export (?=(?:async function|function|class|const) ([\w$]+))/gm
const noExports = /^export \{\};\n/gm

/**
 * Joins a module with all modules that it imports, directly or not, to one script without imports. The imported modules
 * become functions that return their exports. Only the forms that the compiler writes for the code of browsers are known:
 * named imports from files of the same folder, and exported declarations.
 *
 * @throws when a module has another import or export
 */
export function joinModules(folder: string, entry: string): string {
  const parts: string[] = []
  const known = new Set<string>()
  const add = (name: string): string => {
    const text = readFileSync(path.join(folder, name), 'utf8')
    const names = [...text.matchAll(exportWord)].map(([, exported]) => exported)
    for (const [, , imported = ''] of text.matchAll(importLine)) {
      if (known.has(imported)) continue
      known.add(imported)
      parts.push(add(imported))
    }
    const body = text.replace(importLine, toConstants).replace(exportWord, '').replace(noExports, '')
    const [unknown] = /^(?:import|export)\b.*/m.exec(body) ?? []
    if (unknown !== undefined) throw new Error(`The module ${name} cannot be joined: "${unknown}" has an unknown form.`)
    return name === entry ? body : `$modules['${name}'] = (() => {\n${body}return { ${names.join(', ')} };\n})();\n`
  }
  const body = add(entry)
  return parts.length === 0 ? body : `const $modules = {};\n${parts.join('')}${body}`
}

function toConstants(_: string, names: string, file: string): string {
  return `const { ${names.replaceAll(' as ', ': ')} } = $modules['${file}'];\n`
}
