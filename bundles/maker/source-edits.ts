import { compareFiles } from './import-order.ts'

/** The change of an existing file. */
export interface FileChange {
  /** The new content; `undefined` if the file has another form than the usual one. */
  readonly text: string | undefined
  /** The added lines. */
  readonly lines: readonly string[]
}

/** Adds a bundle to the list of bundles, whose usual form is `[createFrameworkBundle(), …]`. */
export function listBundle(text: string, bundle: string, file: string): FileChange {
  const added = createImport(bundle, file)
  return {
    text: change(text, lines => addImport(addToList(lines, bundle), added)),
    lines: [added, '// in the list of bundles:', `${bundle},`],
  }
}

/** Writes a statement for the `register` of a bundle. `app` is the name of its parameter. */
type Statement = (app: string) => string

/** Adds a statement to the `register` of a bundle, whose usual form is a method of an object: `register(app) {`. */
export function registerInBundle(text: string | undefined, added: string, statement: Statement): FileChange {
  return {
    text: text === undefined ? undefined : change(text, lines => addImport(addStatement(lines, statement), added)),
    lines: [added, '// in register(app):', statement('app')],
  }
}

/** Creates the line of an import. */
export function createImport(name: string, file: string): string {
  // The text is in pieces, because a test searches all sources for imports.
  return [`import { ${name} }`, 'from', `'${file}'`].join(' ')
}

/** Changes a text, and keeps its line endings. */
function change(text: string, edit: (text: string) => string | undefined): string | undefined {
  if (!text.includes('\r\n')) return edit(text)
  return edit(text.replaceAll('\r\n', '\n'))?.replaceAll('\n', '\r\n')
}

/** The bundles of development, which are spread, stay the last ones. */
function addToList(text: string, bundle: string): string | undefined {
  const code = hideTexts(text)
  const start = code.search(/\[\s*createFrameworkBundle\(/) + 1
  const end = start === 0 ? -1 : findEnd(code, start - 1)
  if (end === -1) return undefined
  const list = hideInner(code.slice(start, end))
  const place = start + list.search(/,?\s*(?:\.\.\..*)?$/s)
  const [line = ' '] = /^\n\s*/.exec(list) ?? []
  return `${text.slice(0, place)},${line}${bundle}${text.slice(place)}`
}

function addStatement(text: string, statement: Statement): string | undefined {
  const code = hideTexts(text)
  const [method, ...others] = code.matchAll(/^([ \t]+)(?:async )?register\(([^()]*)\)(?:: [\w<>]+)? \{/gm)
  if (method === undefined || others.length > 0) return undefined
  const [head, outer = '', parameter = ''] = method
  const open = method.index + head.length
  const end = findEnd(code, open - 1)
  const app = readParameter(parameter, code)
  if (end === -1 || app === undefined || text.includes(statement(app.name))) return undefined
  const mark = /^import .*;/m.test(code) ? ';' : ''
  const added = [...app.lines, statement(app.name)].map(line => `${line}${mark}`)
  const body = addLines(text.slice(open, end), outer, added)
  if (body === undefined) return undefined
  const start = method.index + head.indexOf('(') + 1
  const rest = text.slice(start + parameter.length, open)
  return `${text.slice(0, start)}${app.written}${rest}${body}${text.slice(end)}`
}

/** Adds lines to the body of a function: the last one before a `return` at the end, the others at the beginning. */
function addLines(body: string, outer: string, added: readonly string[]): string | undefined {
  const inner = /^\n([ \t]+)\S/.exec(body)?.[1] ?? `${outer}${outer.includes('\t') ? '\t' : '  '}`
  const lines = added.map(line => `\n${inner}${line}`)
  if (body.trim() === '') return `${lines.join('')}\n${outer}`
  const before = body.replace(new RegExp(`\n${inner}return\\b.*\\s*$`), '').trimEnd()
  // A body of one line, or with a return of several lines.
  if (!/^\n.*\n[ \t]*$/s.test(body) || new RegExp(`^${inner}return\\b`, 'm').test(before)) return undefined
  return [...lines.slice(0, -1), before, lines.at(-1), body.slice(before.length)].join('')
}

/** Reads how `register` names the application, and the lines at its beginning. */
function readParameter(written: string, code: string) {
  // TypeScript knows the type of the parameter of an object's method, but not of that of a class.
  if (written === '') return /^(?:export )?class\b/m.test(code) ? undefined : { name: 'app', written: 'app', lines: [] }
  const [, name, pattern, type = ''] = /^(?:(\w+)|(\{[^{}]*\}))(: Application)?$/.exec(written) ?? []
  if (name !== undefined) return { name, written, lines: [] }
  if (pattern === undefined || /\bapp\b/.test(code)) return undefined
  return { name: 'app', written: `app${type}`, lines: [`const ${pattern} = app`] }
}

const importStatement = /^import\s(?:[^'"]*?\sfrom\s)?(['"])([^'"]+)\1;?.*$/gm

/**
 * Adds an import, in the order and the style of the others. `undefined` if the file uses the name for another import.
 */
export function addImport(text: string | undefined, added: string): string | undefined {
  if (text === undefined) return undefined
  const [, name = '', file = ''] = /\{ (\w+) \}.*'(.*)'$/.exec(added) ?? []
  const imports = [...text.matchAll(importStatement)]
  const same = imports.find(([statement]) => new RegExp(`\\b${name}\\b(?=.*from)`, 's').test(statement))
  if (same !== undefined) return same[2] === file ? text : undefined
  const [first] = imports
  if (first === undefined) {
    const start = text.startsWith('#!') ? text.indexOf('\n') + 1 : 0
    return `${text.slice(0, start)}${added}\n\n${text.slice(start)}`
  }
  const [statement, quote = ''] = first
  const line = `${added.replaceAll("'", quote)}${/;\s*(?:\/\/.*)?$/.test(statement) ? ';' : ''}`
  const before = imports.findLast(([, , other = '']) => compareFiles(other, file) <= 0)
  if (before === undefined) return `${text.slice(0, first.index)}${line}\n${text.slice(first.index)}`
  const end = before.index + before[0].length
  return `${text.slice(0, end)}\n${line}${text.slice(end)}`
}

/** Replaces comments and texts by spaces: they may have brackets. */
function hideTexts(text: string): string {
  const hidden = /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
  return text.replace(hidden, part => part.replace(/[^\n]/g, ' '))
}

/** Replaces what is in brackets, with the brackets. */
function hideInner(code: string): string {
  const hidden = code.replace(/[([{][^()[\]{}]*[)\]}]/g, part => 'x'.repeat(part.length))
  return hidden === code ? code : hideInner(hidden)
}

/** The position of the bracket that closes the one at a position; -1 if there is none. */
function findEnd(code: string, start: number): number {
  let depth = 0
  for (let at = start; at < code.length; at++) {
    if ('([{'.includes(code.charAt(at))) depth++
    else if (')]}'.includes(code.charAt(at)) && --depth === 0) return at
  }
  return -1
}
