import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { SourceMap, type SourceMapping } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect, stripVTControlCharacters } from 'node:util'
import type { SourceProblem } from '../../kernel/bundle.ts'
import { CommandUsageError } from '../../kernel/contracts/console-command.ts'
import { KERNEL_BUNDLE_FAILED } from '../../kernel/errors.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import { findOwnFrame, parseStack, type StackFrame, toPath } from '../../lib/stack/stack-frames.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import { nearestNames, suggestNames } from '../../lib/text/mistakes.ts'
import { VIEW_TEMPLATE_INVALID } from '../../lib/view/errors.ts'

/** Formats an error for stderr: the message alone if the error was foreseen, otherwise with its stack and causes. */
export function describeFailure(error: unknown): string {
  if (isForeseen(error)) return error.message
  // In front of a mistake in a module, Node names its file and line: its own calls explain nothing. The place of other
  // mistakes, such as those of JSON.parse, is in the calls.
  const stack = error instanceof SyntaxError ? (error.stack ?? '') : ''
  if (stack !== '' && !stack.startsWith('SyntaxError')) {
    return `${stack.replace(/\n {4}at [\s\S]*/, '')}${hintAtName(String(error))}`
  }
  const missing = describeMissingFile(error) ?? describeMissingPackage(error)
  if (missing !== undefined) return missing
  const shown = inspect(error)
  // With `--frozen-intrinsics`, Node shows an error as an empty object.
  return error instanceof Error && !shown.includes(error.message) ? String(error.stack) : shown
}

/** A package that is not installed, or a name that only the compiler resolves. */
function describeMissingPackage(error: unknown): string | undefined {
  const message = String(readProperty(error, 'message'))
  const [, name = '', importer] = /^Cannot find package '([^']+)' imported from (.+)$/.exec(message) ?? []
  if (readProperty(error, 'code') !== 'ERR_MODULE_NOT_FOUND' || importer === undefined) return undefined
  const right = /^(?:[@~]\/|~|@$)/.test(name)
    ? 'Node does not read "paths" of tsconfig.json: write a relative path such as ./books.ts.'
    : `Install it: npm install ${name}. The path of an own file begins with ./ or ../`
  return `${importer}: the import of "${name}" finds no package.\n${right}`
}

/** The line that imports an own file which does not exist, and what is right. The calls of Node explain nothing. */
function describeMissingFile(error: unknown): string | undefined {
  const { file, importer } = readImport(error)
  if (file === undefined || importer === undefined) return undefined
  const write = (wanted: string) => `"./${path.relative(path.dirname(importer), wanted)}"`.replace('./..', '..')
  const isFolder = readProperty(error, 'code') === 'ERR_UNSUPPORTED_DIR_IMPORT'
  const place = placeOfImport(error) ?? { file: importer, line: 1 }
  const mistake = `${place.file}:${place.line}: the import of ${write(file)} finds ${isFolder ? 'a folder' : 'no file'}.`
  return `${mistake}\n${adviseOnFile(file, isFolder, write)}`
}

/**
 * What is right instead of a wrong ending, such as `./home-bundle.js` of a file that ends in
 * `.ts`, a folder, or a wrong name.
 */
function adviseOnFile(file: string, isFolder: boolean, write: (wanted: string) => string): string {
  const source = /\.[cm]?ts$/.test(file) ? file : file.replace(/(?:\.([cm]?)js)?$/, '.$1ts')
  const isCompiled = existsSync(`${file.replace(/\.js$/, '')}.js`)
  if (existsSync(source) || isCompiled) return `Imports of own files end in .ts: import ${write(source)} instead.`
  if (isFolder) {
    const files = listSources(file).map(name => write(path.join(file, name)))
    return `An import names a file, not a folder${files.length === 0 ? '.' : `: import ${files.join(' or ')} instead.`}`
  }
  const folder = path.dirname(file)
  const nearest = nearestNames(path.basename(source), listSources(folder)).map(name => write(path.join(folder, name)))
  if (nearest.length > 0) return `There is no such file: import ${nearest.join(' or ')} instead.`
  return 'If the file was deleted, remove the import, and what it imports from the list.'
}

/** The own file that an import of another one names, and does not find. */
function readImport(error: unknown): { readonly file?: string; readonly importer?: string } {
  const url = readProperty(error, 'url')
  const isImport = ['ERR_MODULE_NOT_FOUND', 'ERR_UNSUPPORTED_DIR_IMPORT'].includes(String(readProperty(error, 'code')))
  const [, importer] = / imported from (.+)$/.exec(String(readProperty(error, 'message'))) ?? []
  return isImport && typeof url === 'string' && importer !== undefined ? { file: fileURLToPath(url), importer } : {}
}

/** The sources of a folder, those of tests left out. */
function listSources(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder).filter(name => /(?<!\.test|\.d)\.[cm]?ts$/.test(name))
}

/**
 * A line about an import of a name that a module does not export: it may be a type, whose import Node does not remove.
 */
function hintAtName(message: string): string {
  const [, module = '', name = ''] = /module '([^']+)' does not provide an export named '([^']+)'/.exec(message) ?? []
  if (name === '') return ''
  const names = readExports(module)
  if (names.includes(`type ${name}`)) return `\nIt is a type: import { type ${name} }.`
  const other = entryPoints.find(each => [name, `type ${name}`].some(wanted => readExports(each).includes(wanted)))
  if (names.length > 0 && other !== undefined) return `\nImport "${name}" from ${other} instead.`
  const advice = name === 'default' ? ': import names, such as { Response }' : suggestNames(name, names)
  if (names.length > 0) return `\nThere is no "${name}" in ${module}${advice}.`
  const cure = /^\.{0,2}\//.test(module) ? 'export it from' : 'look at the exports of'
  return `\nIf "${name}" is a type: import { type ${name} }. Otherwise ${cure} ${module}.`
}

/** Those in which a name is looked for. */
const entryPoints = ['', '/server', '/testing', '/profiler', '/console', '/profiler/testing'].map(
  part => `sinfonietta${part}`,
)

/** The names that an entry point of this package exports, those of types as `type Bundle`; none for another module. */
function readExports(module: string): string[] {
  const [, part] = /^sinfonietta(?:\/(.*))?$/.exec(module) ?? [undefined, '-']
  const file = path.join(import.meta.dirname, `../exports/${(part ?? 'sinfonietta').replace('/', '-')}.d.ts`)
  if (!existsSync(file)) return []
  const lists = readFileSync(file, 'utf8').matchAll(/^export (type )?\{([^}]*)\}/gm)
  return Array.from(lists, ([, mark = '', list = '']) => list.split(',').map(each => `${mark}${each.trim()}`)).flat()
}

function isForeseen(error: unknown): error is Error {
  // For an unforeseen error of a bundle, the stack shows the place in the bundle.
  if (error instanceof KERNEL_BUNDLE_FAILED) return isForeseen(error.cause)
  return error instanceof HttpError || error instanceof CommandUsageError
}

const limit = 50

/** The mistakes that have kept an application from starting, or its templates from being read. */
export function toSourceProblems(error: unknown, directory: string): SourceProblem[] {
  if (error instanceof VIEW_TEMPLATE_INVALID) return ofTemplates(error)
  const message = stripVTControlCharacters(describeFailure(error))
  // The calls are in the terminal. The page shows the place and the source below the message, and masks the source.
  const short = message
    .replace(/\n {4}at [\s\S]*/, '')
    .replace(/^\S+:\d+\n(?:.*\n)*?(?=SyntaxError)/, '')
    .replace(/^.*:\d+: (?=the import of )/, '')
    .slice(0, 4000)
  const place = placeOfSetting(message, directory) ?? placeOfImport(error) ?? findPlace(error, directory)
  return [{ message: short, ...place }]
}

/**
 * The message has the mistakes in the order of the frames, which are their places. A mistake may have several lines.
 */
function ofTemplates(error: Error): SourceProblem[] {
  const frames = parseStack(error).filter(frame => frame.function?.startsWith('template '))
  const texts = error.message.split(/\n(?=\S[^\n]*?\.hbs: )/).slice(1, limit + 1)
  return texts.map((text, index) => {
    const frame = frames[index]
    return frame === undefined ? { message: text } : { message: withoutPlace(text), ...placeOf(frame) }
  })
}

/** The file and the line are shown beside the message, and the source below it. */
function withoutPlace(text: string): string {
  return text.replace(/^\S.*?\.hbs: (?:line \d+: )?/, '')
}

type Place = Pick<SourceProblem, 'file' | 'line' | 'column'>

/** `The file "/app/.env" is malformed at line 3`. */
function placeOfSetting(message: string, directory: string): Place | undefined {
  const [, file, line] = /^The file "([^"]+)" is malformed at line (\d+)/.exec(message) ?? []
  return file === undefined ? undefined : { file: path.resolve(directory, file), line: Number(line), column: 1 }
}

/** The line of the import that finds no file, in the source of a compiled file. */
function placeOfImport(error: unknown): Place | undefined {
  const { file, importer } = readImport(error)
  if (file === undefined || importer === undefined || !existsSync(importer)) return undefined
  const lines = readFileSync(importer, 'utf8').split('\n')
  const line = lines.findIndex(text => /\b(?:from|import)\b/.test(text) && text.includes(path.basename(file))) + 1
  return findSource(importer, Math.max(1, line))
}

/** The place in the source of a line, by the map that the compiler writes beside its file. */
function findSource(file: string, line: number): Place {
  const map = `${file}.map`
  const found: Partial<SourceMapping> = existsSync(map)
    ? new SourceMap(JSON.parse(readFileSync(map, 'utf8'))).findEntry(line - 1, 0)
    : {}
  if (found.originalSource === undefined) return { file, line, column: 1 }
  return {
    file: path.resolve(path.dirname(file), found.originalSource),
    line: (found.originalLine ?? 0) + 1,
    column: 1,
  }
}

/** The place of a syntax error, or the innermost call of the application in the stacks of an error and its causes. */
function findPlace(error: unknown, directory: string): Place {
  const [, syntax, line] = /^(\S+):(\d+)\n/.exec(String(readProperty(error, 'stack'))) ?? []
  if (syntax !== undefined) return { file: toPath(syntax), line: Number(line), column: 1 }
  for (let cause = error, depth = 0; cause !== undefined && depth < 5; cause = readProperty(cause, 'cause'), depth++) {
    const frame = findOwnFrame(cause, directory)
    if (frame !== undefined) return placeOf(frame)
  }
  return {}
}

function placeOf({ column, file, line }: StackFrame): Place {
  return file === undefined ? {} : { file, line: line ?? 1, column: column ?? 1 }
}
