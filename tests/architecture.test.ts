import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'

const layers = ['lib', 'kernel', 'bundles', 'bin']

/** Where a package may be imported: a file, or a folder. */
const places: Readonly<Record<string, string>> = {
  'path-to-regexp': 'lib/routing/',
  mitt: 'lib/signals.ts',
  handlebars: 'lib/view/view.ts',
  pino: 'lib/log/',
  cookie: 'lib/http/',
  negotiator: 'lib/http/negotiation.ts',
  mime: 'lib/http/file-response.ts',
  valibot: 'lib/env/',
  commander: 'bin/console',
  'highlight.js': 'lib/stack/highlight.ts',
  '@modelcontextprotocol/sdk': 'bundles/profiler/mcp/',
}

const sources = layers.flatMap(layer =>
  readdirSync(layer, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => path.join(layer, file)),
)

/** What a file imports: paths from the root for its own files, names for packages and node. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const specifiers = [...text.matchAll(/(?:from|import\(|require\() ?'([^'\s]+)'/g)].map(([, specifier]) =>
    String(specifier),
  )
  return specifiers.map(name => (name.startsWith('.') ? path.join(path.dirname(file), name) : name))
}

const imports = new Map(sources.map(file => [file, importsOf(file)]))
const layerOf = (file: string) => layers.indexOf(String(file.split('/')[0]))
/** The package that a part of it is imported from: `@scope/name`, `highlight.js` for `highlight.js/lib/core`. */
const packageOf = (name: string) => name.split('/', name.startsWith('@') ? 2 : 1).join('/')
const isOwn = (name: string) => layers.some(layer => name.startsWith(`${layer}/`))

t.test('a file imports from its own layer or one to its left', async t => {
  t.ok(sources.length > 100, 'sources are found')
  for (const [file, names] of imports) {
    for (const name of names.filter(isOwn)) t.ok(layerOf(name) <= layerOf(file), `${file} imports ${name}`)
  }
})

t.test('bundles do not import one another', async t => {
  const bundleOf = (file: string) => file.split('/')[1]
  for (const [file, names] of imports) {
    if (!/^bundles\/.+\//.test(file)) continue
    for (const name of names.filter(name => name.startsWith('bundles/'))) {
      t.equal(bundleOf(name), bundleOf(file), `${file} imports ${name}`)
    }
  }
})

t.test('each package is imported in its one place, and all of them are declared and used', async t => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.strictSame(Object.keys({ ...dependencies, ...peerDependencies }).sort(), Object.keys(places).sort())
  const used = new Set<string>()
  for (const [file, names] of imports) {
    for (const name of names.filter(name => !isOwn(name) && !name.startsWith('node:')).map(packageOf)) {
      used.add(name)
      t.ok(file.startsWith(places[name] ?? 'nowhere'), `${file} imports ${name}`)
    }
  }
  t.equal(used.size, Object.keys(places).length)
})

t.test('node:http is for the server, and for the names of statuses', async t => {
  for (const [file, names] of imports) {
    if (names.includes('node:http')) t.match(file, /^kernel\/server\/|^lib\/http\/status\.ts$/)
  }
})

t.test('there are no import cycles, not even of types', async t => {
  const done = new Set<string>()
  const visit = (file: string, way: readonly string[]) => {
    if (way.includes(file)) t.fail(`a cycle: ${[...way.slice(way.indexOf(file)), file].join(' → ')}`)
    if (way.includes(file) || done.has(file)) return
    for (const name of (imports.get(file) ?? []).filter(isOwn)) visit(name, [...way, file])
    done.add(file)
  }
  for (const file of sources) visit(file, [])
  t.equal(done.size, sources.length)
})

t.test('no template writes unescaped output, and SafeString stands in one file', async t => {
  for (const file of readdirSync('templates', { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.hbs')) t.notMatch(readFileSync(path.join('templates', file), 'utf8'), /\{\{\{|\{\{&/, file)
  }
  const users = sources.filter(file => readFileSync(file, 'utf8').includes('new Handlebars.SafeString'))
  t.strictSame(users, ['lib/view/view.ts'])
})

t.test('every error code has a row in the reference, and every row a code', async t => {
  const codes = sources
    .filter(file => file.endsWith('/errors.ts'))
    .flatMap(file => [...readFileSync(file, 'utf8').matchAll(/export const ([A-Z_]+)[\s\S]*?'([A-Z]+_[A-Z_]+)'/g)])
  for (const [, name, code] of codes) t.equal(name, code)
  const documented = [...readFileSync('docs/reference/errors.md', 'utf8').matchAll(/^\| `([A-Z_]+)`/gm)].map(
    ([, code]) => code,
  )
  t.strictSame(documented.toSorted(), codes.map(([, , code]) => code).toSorted())
})

t.test('coverage is never ignored without a reason, nor often', async t => {
  const marks = sources.flatMap(file => readFileSync(file, 'utf8').match(/.*(?:c8|v8|istanbul) ignore.*/g) ?? [])
  t.ok(marks.length <= 20)
  for (const mark of marks) t.match(mark, /ignore \w+ ?\d* -- \w+/)
})
