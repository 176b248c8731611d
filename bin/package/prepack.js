// Prepares `dist/` for `npm pack`: the modules that make profiles in bundles, declarations as far
// as the entry points need them, and code without comments.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { tsPlugin } from '@sveltejs/acorn-typescript'
import { Parser } from 'acorn'
import { bundleModules } from './bundle-modules.js'

const dist = path.join(import.meta.dirname, '../../dist')
const declarationParser = Parser.extend(tsPlugin({ dts: true }))

function parse(file, parser) {
  const text = readFileSync(path.join(dist, file), 'utf8')
  const comments = []
  const tokens = []
  const options = {
    ecmaVersion: 'latest',
    sourceType: 'module',
    allowHashBang: true,
    onComment: comments,
    onToken: tokens,
  }
  return { text, comments, tokens, body: parser.parse(text, options).body }
}

/** The files of declarations that are needed, and of each the statements and the imported names that are kept. */
const modules = new Map()

function open(file) {
  const known = modules.get(file)
  if (known !== undefined) return known
  const module = { ...parse(file, declarationParser), kept: new Set() }
  modules.set(file, module)
  // Statements without a name add members to an interface of another file.
  for (const statement of module.body) if (namesOf(statement).length === 0) keep(file, statement)
  return module
}

function need(file, name) {
  for (const statement of open(file).body) if (namesOf(statement).includes(name)) keep(file, statement, name)
}

/** Keeps a statement and what it names; of an import only one name. */
function keep(file, statement, name) {
  const { kept } = open(file)
  const { source } = statement
  const specifier = statement.specifiers?.find(each => nameOf(each) === name)
  const part = specifier ?? statement
  if (kept.has(part)) return
  kept.add(part).add(statement)
  const find = from => path.posix.join(path.posix.dirname(file), from.replace(/\.ts$/, '.d.ts'))
  if (source && !source.value.startsWith('.')) return
  if (specifier) need(source ? find(source.value) : file, (specifier.imported ?? specifier.local).name)
  else if (source) open(find(source.value))
  else {
    const code = codeOf(file, statement)
    for (const [, from, wanted] of code.matchAll(/\bimport\("(\.[^"]+)"\)\.(\w+)/g)) need(find(from), wanted)
    for (const word of new Set(code.match(/[\p{L}_$][\p{L}\d_$]*/gu))) need(file, word)
  }
}

/** The names that a statement declares, imports or exports. */
function namesOf(statement) {
  if (statement.specifiers?.length > 0) return statement.specifiers.map(nameOf)
  const node = statement.declaration ?? statement
  return [node, ...(node.declarations ?? [])].flatMap(({ id }) => id?.name ?? [])
}

function nameOf({ exported, local }) {
  return (exported ?? local).name
}

/** The text of a statement without its comments. */
function codeOf(file, { end, start }) {
  const { comments, text } = open(file)
  let code = text.slice(0, end)
  for (const comment of comments.toReversed())
    if (comment.start > start && comment.end < end) code = code.slice(0, comment.start) + code.slice(comment.end)
  return code.slice(start)
}

/** The kept statements of a file, each with the comment before it. */
function neededText({ body, kept, text }) {
  let end = 0
  const parts = body.map(statement => {
    const before = text.slice(end, statement.start)
    end = statement.end
    if (!kept.has(statement)) return ''
    const all = statement.specifiers ?? []
    const some = all.filter(each => kept.has(each)).map(each => text.slice(each.start, each.end))
    if (some.length === 0) return before + text.slice(statement.start, end)
    return before + text.slice(statement.start, all[0].start) + some.join(', ') + text.slice(all.at(-1).end, end)
  })
  return `${parts.join('').trimStart()}\n`
}

/**
 * A file without the comments on lines of their own: editors show those of declarations, and source maps are
 * not packed. A tab takes the place of four spaces before a line of code, which is not a line of a text.
 */
function packedText({ comments, text, tokens }) {
  const alone = comments.flatMap(({ end, start }) => {
    const line = text.lastIndexOf('\n', start) + 1
    const isAlone = text.slice(line, start).trim() === '' && (text[end] ?? '\n') === '\n'
    return isAlone && !text.startsWith('#!', start) ? { start: line, end: end + 1, text: '' } : []
  })
  const texts = tokens.filter(({ type: { label } }) => label === 'template' || label === 'string')
  const isIn = (parts, at) => parts.some(({ end, start }) => start <= at && at < end)
  const indents = Array.from(text.matchAll(/^(?: {4})+/gm), ({ 0: spaces, index }) => {
    return { start: index, end: index + spaces.length, text: '\t'.repeat(spaces.length / 4) }
  }).filter(({ start }) => !isIn(alone, start) && !isIn(texts, start))
  let code = text
  for (const { end, start, text: other } of [...alone, ...indents].sort((one, two) => two.start - one.start))
    code = code.slice(0, start) + other + code.slice(end)
  return code
}

const importsOf = file =>
  parse(file, Parser).body.flatMap(({ source }) =>
    source?.value.startsWith('.') ? path.posix.join(path.posix.dirname(file), source.value) : [],
  )
await bundleModules(dist, importsOf, replace)

const files = ['bin', 'bundles', 'kernel', 'lib'].flatMap(layer =>
  readdirSync(path.join(dist, layer), { recursive: true }).map(file => path.posix.join(layer, file)),
)
for (const entry of files.filter(file => /^bin\/exports\/[\w-]+\.d\.ts$/.test(file)))
  for (const name of open(entry).body.flatMap(namesOf)) need(entry, name)

// The repository uses what is left out: its next build writes all files again.
rmSync(path.join(dist, '.tsbuildinfo'), { force: true })
const others = files.filter(file => file.endsWith('.d.ts') && !modules.has(file))
writeFileSync(path.join(dist, '.npmignore'), others.map(file => `/${file}\n`).join(''))
for (const [file, module] of modules) replace(file, neededText(module))
for (const file of files.filter(file => file.endsWith('.js'))) replace(file, packedText(parse(file, Parser)))

/** Replaces a file as a whole: another program may load it at this moment. */
function replace(file, text) {
  const place = path.join(dist, file)
  writeFileSync(`${place}.new`, text)
  renameSync(`${place}.new`, place)
}
