import type { Declaration } from 'acorn'
import { isFunction, parseSource, unwrap } from './syntax.ts'

/** The bundle of a file: the name that others import, and an expression for the bundle. */
export interface ExportedBundle {
  readonly name: string
  readonly value: string
}

/**
 * Finds the bundle that a file exports: a constant, a class, or a function that creates it. Otherwise it is the constant
 * that `make:bundle` writes.
 */
export function findExportedBundle(text: string | undefined, usual: string): ExportedBundle {
  const body = (text === undefined ? undefined : parseSource(text))?.program.body ?? []
  const found = body.flatMap(node =>
    node.type === 'ExportNamedDeclaration' && node.declaration ? readDeclaration(node.declaration) : [],
  )
  return found.find(({ name }) => name.endsWith('Bundle')) ?? { name: usual, value: usual }
}

function readDeclaration(node: Declaration): ExportedBundle[] {
  if (node.type === 'VariableDeclaration') {
    return node.declarations.flatMap(({ id, init }) => {
      if (id.type !== 'Identifier') return []
      return [{ name: id.name, value: init && isFunction(unwrap(init)) ? `${id.name}()` : id.name }]
    })
  }
  if (node.type === 'ClassDeclaration') return [{ name: node.id.name, value: `new ${node.id.name}()` }]
  return node.type === 'FunctionDeclaration' ? [{ name: node.id.name, value: `${node.id.name}()` }] : []
}
