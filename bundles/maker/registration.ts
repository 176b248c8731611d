import { addImport } from './imports.ts'
import type { Change } from './plan.ts'

/** The method of a bundle that is an object, or of one that is a class; what stands in it is indented. */
const empty = /^ {2}register\(\) \{\}/gm
const filled = /^( {2}(?:async )?register\(app(?:: Application)?\)(?:: [^{\n]+)? \{\n(?: {4}.*\n|\n)*)( {2}\})/gm

/** Adds a statement to what a bundle does when it is registered. */
export function registerInBundle(text: string | undefined, added: string, statement: string): Change {
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
