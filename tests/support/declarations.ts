import { readFileSync } from 'node:fs'
import path from 'node:path'
import { tsPlugin } from '@sveltejs/acorn-typescript'
import { type Comment, Parser } from 'acorn'

/** A declaration of a module, as the compiler has written it. */
export interface Declaration {
  readonly name: string
  /** The text without comments; overloads follow one another. */
  readonly text: string
  /** The same without the constructor: a name that is exported as a type only cannot be constructed. */
  readonly typeText: string
  /** The beginning of its doc comment, as Markdown; empty without a comment. */
  readonly meaning: string
  /**
   * The members of an interface or a class for which an editor has no text: those of an interface
   * that a class implements have its own.
   */
  readonly silentMembers: readonly string[]
}

/** The name of another module under which a declaration is found there. */
interface Origin {
  readonly file: string
  readonly name: string
}

/** A name that a module exports again. */
export interface Reexport extends Origin {
  readonly exported: string
  readonly isType: boolean
}

/** A member that a module adds to an interface of another one. */
export interface Addition {
  readonly target: string
  readonly member: string
  readonly text: string
}

/** A `.d.ts` file. */
export interface DeclarationFile {
  readonly declarations: ReadonlyMap<string, Declaration>
  /** The imported names of other modules of the package. */
  readonly imports: ReadonlyMap<string, Origin>
  readonly reexports: readonly Reexport[]
  /** The modules whose exports are all exported again. */
  readonly wholeReexports: readonly string[]
  /** The members that the module adds to interfaces of other modules. */
  readonly additions: readonly Addition[]
}

/** The parts of a node that are read here. The types of acorn know nothing of TypeScript. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly declaration?: Node | null
  readonly declarations?: readonly Node[]
  readonly id?: Node & { readonly name: string }
  readonly body?: Node | readonly Node[]
  readonly kind?: string
  readonly exportKind?: string
  readonly source?: { readonly value: string } | null
  readonly specifiers?: readonly { readonly [name: string]: { readonly name: string } & string }[]
}

const parser = Parser.extend(tsPlugin({ dts: true }))
const files = new Map<string, DeclarationFile>()

/** Reads a `.d.ts` file, once. */
export function readDeclarations(file: string): DeclarationFile {
  const known = files.get(file) ?? parseDeclarations(file, readFileSync(file, 'utf8'))
  files.set(file, known)
  return known
}

function parseDeclarations(file: string, code: string): DeclarationFile {
  const comments: Comment[] = []
  const program = parser.parse(code, { sourceType: 'module', ecmaVersion: 'latest', onComment: comments })
  const declarations = new Map<string, Declaration>()
  const imports = new Map<string, Origin>()
  const reexports: Reexport[] = []
  const wholeReexports: string[] = []
  const additions: Addition[] = []
  // The nodes of TypeScript are unknown to the types of acorn.
  for (const statement of program.body as unknown as readonly Node[]) {
    const source = statement.source?.value
    const target = source?.startsWith('.') ? path.join(path.dirname(file), source.replace(/\.ts$/, '.d.ts')) : undefined
    if (statement.type === 'ExportAllDeclaration') wholeReexports.push(String(target))
    else if (target !== undefined && statement.specifiers !== undefined) {
      for (const { exported, exportKind, imported, local } of statement.specifiers) {
        if (statement.type === 'ImportDeclaration') {
          imports.set(String(local?.name), { file: target, name: String(imported?.name) })
        } else {
          const isType = statement.exportKind === 'type' || exportKind === 'type'
          reexports.push({ file: target, name: String(local?.name), exported: String(exported?.name), isType })
        }
      }
    } else if (statement.type === 'TSModuleDeclaration') addMembers(statement)
    else for (const { id, node } of namedParts(statement)) declare(id, statement, node)
  }

  function declare(name: string, statement: Node, node: Node): void {
    const constructors = bodyOf(node).filter(({ kind }) => kind === 'constructor')
    const before = declarations.get(name)
    const text = textOf(statement, [])
    const typeText = textOf(statement, constructors)
    const isMember = ({ start, end }: Node) =>
      !/^(?:private |constructor\b|static readonly eventName|#|\[)/.test(code.slice(start, end)) &&
      !/^[^{]* implements /.test(code.slice(node.start, node.end))
    // Of overloads, the first one has the comment.
    const members = bodyOf(node)
      .filter(isMember)
      .map(each => ({ name: nameOf(each), hasText: docBefore(each) !== undefined }))
    const silent = members.filter(({ name }) => !members.some(each => each.name === name && each.hasText))
    declarations.set(name, {
      name,
      text: before === undefined ? text : `${before.text}\n${text}`,
      typeText: before === undefined ? typeText : `${before.typeText}\n${typeText}`,
      meaning: before?.meaning || shorten(docBefore(statement) ?? ''),
      silentMembers: [...(before?.silentMembers ?? []), ...silent.map(each => each.name)],
    })
  }

  function addMembers(module: Node): void {
    for (const statement of bodyOf(module)) {
      for (const { id, node } of namedParts(statement)) {
        for (const added of bodyOf(node)) {
          const text = textOf(added, [])
          const member = String(/[\w.]+/.exec(text)?.[0])
          additions.push({ target: id, member, text })
        }
      }
    }
  }

  /** The comment right before a node. */
  function docBefore({ start }: Node): string | undefined {
    return comments.findLast(({ end }) => end <= start && !/\S/.test(code.slice(end, start)))?.value
  }

  function nameOf({ end, start }: Node): string {
    return String(
      /^(?:(?:static|readonly|abstract|get|set|protected|override) )*['"]?([~\w.$-]+)/.exec(
        code.slice(start, end),
      )?.[1],
    )
  }

  function textOf({ end, start }: Node, without: readonly Node[]): string {
    const gaps = [...comments, ...without].filter(gap => gap.start >= start && gap.end <= end)
    let text = ''
    let at = start
    for (const gap of gaps.toSorted((a, b) => a.start - b.start)) {
      text += code.slice(at, Math.max(at, gap.start))
      at = Math.max(at, gap.end)
    }
    return (text + code.slice(at, end)).replace(/^(?:export |declare )+/, '').replace(/\n\s*(?=\n)/g, '')
  }

  return { declarations, imports, reexports, wholeReexports, additions }
}

/** The declarations in a statement, by their names. */
function namedParts(statement: Node): { readonly id: string; readonly node: Node }[] {
  const node = statement.declaration ?? statement
  const parts = node.declarations ?? [node]
  return parts.flatMap(({ id }) => (id === undefined ? [] : [{ id: id.name, node }]))
}

/** The members of a class, an interface or a module. */
function bodyOf({ body = [] }: Node): readonly Node[] {
  return isList(body) ? body : bodyOf(body)
}

function isList(body: Node | readonly Node[]): body is readonly Node[] {
  return Array.isArray(body)
}

/** The first sentence, and the second if the first is short; without the code that may follow after a colon. */
function shorten(comment: string): string {
  const text = comment
    .replace(/^\s*\*+ ?/gm, '')
    .replace(/\s+/g, ' ')
    .replace(/^ ?(?:\d+\. )?/, '')
    .replace(/ ?@throws .*| declare module .*/, '')
  const sentences = text.trim().match(/.+?(?:\.(?=$| [A-Z`{(\d])|:(?= `\w+\()|$)/g) ?? []
  const [first = '', second = ''] = sentences
  const short = first.length < shortest && !first.endsWith(':') ? first + second : first
  return short.replace(/\{@link (\w+)(?:\.\w+)?\}/g, '`$1`').replace(/[.:]$/, '')
}

/** The number of characters of a sentence that says little. */
const shortest = 50
