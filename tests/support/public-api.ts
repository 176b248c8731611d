import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type Declaration, readDeclarations } from './declarations.ts'

/** An exported name of an entry point. */
export interface PublicName {
  readonly name: string
  /** Whether it is exported as a type only. */
  readonly isType: boolean
  readonly file: string
  readonly declaration: Declaration
}

/** A file that can be imported by name. */
export interface EntryPoint {
  /** `sinfonietta/testing` */
  readonly name: string
  /** The purpose: the comment at the top of the file. */
  readonly purpose: string
  readonly names: readonly PublicName[]
}

/** The entry points of package.json, with their names in alphabetical order. */
export function readEntryPoints(): EntryPoint[] {
  return manifestEntries('.').map(({ name, types }) => {
    const source = types.replace(/^dist\/(.*)\.d\.ts$/, '$1.ts')
    const purpose = String(/^(?:\/\/ .*\n)+/m.exec(readFileSync(source, 'utf8'))?.[0])
    return {
      name,
      purpose: purpose.replace(/^\/\/ /gm, '').trim(),
      names: exportsOf(types).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    }
  })
}

/** The names of the entry points of a package, and the files of their types. */
function manifestEntries(directory: string): { readonly name: string; readonly types: string }[] {
  const manifest = JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly exports: Readonly<Record<string, { readonly types: string }>>
  }
  return Object.entries(manifest.exports).map(([key, { types }]) => ({
    name: path.join(manifest.name, key),
    types: path.join(directory, types),
  }))
}

function exportsOf(entry: string): PublicName[] {
  return readDeclarations(entry).reexports.map(({ exported, file, isType, name }) => {
    const declaration = readDeclarations(file).declarations.get(name)
    assert(declaration, `${entry} exports ${name}, which ${file} does not declare.`)
    return { name: exported, isType, file, declaration }
  })
}

/** A declaration of the report. */
export interface ReportedDeclaration {
  /** ``sinfonietta: `Bundle` ``, or ``reached: `RouteCollection` `` for a declaration without an exported name. */
  readonly title: string
  readonly text: string
  /** The names of which one must be in the changelog if the text differs. */
  readonly names: readonly string[]
}

/**
 * The declarations of all exported names of a package, and of what they reach: a method of a parameter's type is
 * public, too, even if the name of the type is not exported. The package is in a folder, by default this repository.
 */
export function readReport(directory = '.'): ReportedDeclaration[] {
  const entries = manifestEntries(directory).map(({ name, types }) => ({ name, types, names: exportsOf(types) }))
  const exported = new Set(
    entries.flatMap(({ names }) => names.map(({ declaration, file }) => `${file} ${declaration.name}`)),
  )
  const reached = new Map<string, { text: string; name: string; file: string; by: Set<string> }>()
  const report: ReportedDeclaration[] = []
  const visited = new Set(entries.flatMap(({ types }) => readDeclarations(types).wholeReexports))

  function visit(file: string, name: string, text: string, by: string): void {
    for (const next of referencesOf(file, name, text)) {
      visited.add(next.file)
      const key = `${next.file} ${next.name}`
      const declaration = readDeclarations(next.file).declarations.get(next.name)
      if (declaration === undefined || exported.has(key)) continue
      const known = reached.get(key)
      if (known?.by.has(by)) continue
      reached.set(key, { ...next, text: declaration.typeText, by: new Set([...(known?.by ?? []), by]) })
      visit(next.file, next.name, declaration.typeText, by)
    }
  }

  for (const { name: entry, names } of entries) {
    for (const { declaration, file, isType, name } of names) {
      visited.add(file)
      const text = isType ? declaration.typeText : declaration.text
      visit(file, declaration.name, text, name)
      report.push({ title: `${entry}: \`${name}\``, text: isType ? `type-only ${text}` : text, names: [name] })
    }
  }
  for (const { by, name, text } of reached.values()) {
    report.push({ title: `reached: \`${name}\``, text, names: [name, ...by].toSorted() })
  }
  for (const { member, target, text } of [...visited].flatMap(file => readDeclarations(file).additions)) {
    report.push({ title: `member of ${target}: \`${member}\``, text, names: [member] })
  }
  return report.toSorted((a, b) => (a.title < b.title ? -1 : 1))
}

/** The declarations of this package that a text names. */
function referencesOf(file: string, own: string, text: string): { readonly file: string; readonly name: string }[] {
  const { declarations, imports } = readDeclarations(file)
  const words = new Set(text.match(/[\p{L}_$][\p{L}\d_$]*/gu))
  words.delete(own)
  return [...words].flatMap(word => {
    const imported = imports.get(word)
    if (imported !== undefined) return [imported]
    return declarations.has(word) ? [{ file, name: word }] : []
  })
}
