// Prepares `dist/` for `npm pack`: the tarball has the declarations that its entry points need, each doc comment once, and no others.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'acorn'

const dist = path.join(import.meta.dirname, '../dist')
const files = ['bin', 'bundles', 'kernel', 'lib'].flatMap(layer =>
  readdirSync(path.join(dist, layer), { recursive: true }).map(file => path.posix.join(layer, file)),
)

const needed = new Set()
/** Adds a file of declarations, and all that it imports. */
const need = file => {
  if (needed.has(file) || !existsSync(path.join(dist, file))) return
  needed.add(file)
  const text = readFileSync(path.join(dist, file), 'utf8')
  for (const [, name] of text.matchAll(/\b(?:from|import|module) ?\(?['"](\.[^'"]+)['"]/g))
    need(path.posix.join(path.posix.dirname(file), name.replace(/\.[jt]s$/, '.d.ts')))
}
for (const file of files) if (/^bin\/exports\/[\w-]+\.d\.ts$/.test(file)) need(file)
const others = files.filter(file => file.endsWith('.d.ts') && !needed.has(file))
writeFileSync(path.join(dist, '.npmignore'), others.map(file => `/${file}\n`).join(''))

for (const file of files.filter(file => file.endsWith('.js'))) {
  const text = readFileSync(path.join(dist, file), 'utf8')
  const comments = []
  const onComment = (isBlock, comment, start, end) => {
    const isAlone = /(?:^|\n)[ \t]*$/.test(text.slice(0, start)) && /^[ \t]*\n/.test(text.slice(end))
    // A line for a tool, such as the address of a source map, has no blank at its beginning.
    const isForReaders = isBlock ? comment.startsWith('*') : comment.startsWith(' ')
    if (isForReaders && isAlone) comments.push({ start, end })
  }
  parse(text, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true, onComment })
  // Editors show the doc comments of declarations. The lines stay, so source maps hold.
  let short = text
  for (const { end, start } of comments.toReversed())
    short = short.slice(0, start) + short.slice(start, end).replace(/[^\n]/g, '') + short.slice(end)
  if (short === text) continue
  // Another program may load the file at this moment.
  writeFileSync(path.join(dist, `${file}.new`), short)
  renameSync(path.join(dist, `${file}.new`), path.join(dist, file))
}
