import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import Module from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { t } from 'tap'
import { findSource, noteCompleted, noteLoad, toSource } from '#lib/stack/source-maps.ts'
import { locateFrame, parseStack } from '#lib/stack/stack-frames.ts'
import { encodeMappings, inlineMap } from '#tests/support/source-map.ts'

const number = fc.nat({ max: 70_000 })
const segment = fc.oneof(
  fc.tuple(number),
  fc.tuple(number, fc.nat({ max: 2 }), number, number),
  fc.tuple(number, fc.nat({ max: 2 }), number, number, fc.nat({ max: 9 })),
)
const sorted = fc
  .uniqueArray(segment, { selector: ([column]) => column, maxLength: 6 })
  .map(segments => segments.toSorted(([one = 0], [other = 0]) => one - other))

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** Writes a file, and finds the source of a place in it. */
function createFinder(directory: string) {
  let count = 0
  return (code: string, [line, column]: readonly [number, number] = [1, 1]) => {
    const file = path.join(directory, `${count++}.js`)
    writeFileSync(file, code)
    return findSource({ file, line, column }, hashOf(code))
  }
}

t.test('a source is that of the last segment before a place, in the same line', async t => {
  const directory = t.testdir()
  const find = createFinder(directory)
  const sources = ['a.ts', 'sub/b.ts', '../c d.ts']
  const property = fc.property(fc.array(sorted, { maxLength: 6 }), number, number, (lines, line, column) => {
    const row = line % (lines.length + 1)
    const [, source, ofLine = 0, ofColumn = 0] = lines[row]?.findLast(([generated]) => generated <= column) ?? []
    const wanted =
      source === undefined
        ? undefined
        : { file: path.join(directory, String(sources[source])), line: ofLine + 1, column: ofColumn + 1 }
    const found = find(inlineMap({ version: 3, sources, mappings: encodeMappings(lines) }), [row + 1, column + 1])
    t.strictSame(found, wanted)
  })
  fc.assert(property, { numRuns: 200 })
})

t.test('a map is beside its file or in it, and names its sources in many ways', async t => {
  const directory = t.testdir({ 'package.json': '{}', src: { 'a b.ts': '' }, dist: { 'a.js.map': '', 'b c.map': '' } })
  const find = createFinder(path.join(directory, 'dist'))
  const source = path.join(directory, 'src/a b.ts')
  const map = (name: string | null, root?: string) => ({
    version: 3,
    sources: [name],
    mappings: 'AAAA',
    sourceRoot: root,
  })
  const found = { file: source, line: 1, column: 1 }
  for (const name of [
    '../src/a b.ts',
    'src/a b.ts',
    '../src/a%20b.ts',
    '../src/a b.ts?vue&type=script',
    pathToFileURL(source).href,
    'webpack://shop/./src/a b.ts',
    'webpack:///src/a b.ts?1a2b',
    'turbopack:///[project]/src/a b.ts',
  ])
    t.strictSame(find(inlineMap(map(name))), found, name)
  t.strictSame(find(inlineMap(map('a b.ts', '../src'))), found)
  t.strictSame(find(inlineMap(map('a b.ts', '../src/'))), found)
  for (const name of ['webpack://shop/webpack/bootstrap', 'https://other.example/a.ts', '%zz', null])
    t.equal(find(inlineMap(map(name))), undefined, String(name))

  const sections = [
    { offset: { line: 0, column: 0 }, map: map('../src/other.ts') },
    { offset: { line: 1, column: 4 }, map: map('../src/a b.ts') },
  ]
  const sectioned = inlineMap({ version: 3, sections })
  t.match(find(sectioned, [1, 9]), { file: /other\.ts$/ })
  t.strictSame(find(sectioned, [2, 9]), found)
  t.equal(find(sectioned, [2, 2]), undefined)
  t.equal(find(sectioned, [3, 1]), undefined)

  const json = JSON.stringify(map('../src/a b.ts'))
  writeFileSync(path.join(directory, 'dist/b c.map'), `)]}'\n${json}`)
  t.strictSame(find('run()\n//# sourceMappingURL=b%20c.map'), found)
  t.strictSame(find(`//# sourceMappingURL=data:application/json,${encodeURIComponent(json)}`), found)
  t.strictSame(find(`const text = "//# sourceMappingURL=other.map"\n${inlineMap(map('../src/a b.ts'))}`), found)
})

t.test('a map that is damaged, missing or of another code gives no place', async t => {
  const directory = t.testdir({ 'text.map': '{', folder: {} })
  const find = createFinder(directory)
  const map = { version: 3, sources: ['a.ts'], mappings: 'AAAA' }
  const damaged = [
    '',
    '//# sourceMappingURL=',
    '//# sourceMappingURL=missing.map',
    '//# sourceMappingURL=text.map',
    '//# sourceMappingURL=folder',
    '//# sourceMappingURL=https://other.example/a.map',
    '//# sourceMappingURL=data:application/json;base64,AAAA',
    '//# sourceMappingURL=a.map\nrun()',
    ...['A', 'AAA', 'AAA!', 'gggggggggg', 'é'].map(mappings => inlineMap({ ...map, mappings })),
    inlineMap({ ...map, mappings: 1 }),
    inlineMap({ sources: [] }),
    inlineMap({ ...map, sources: [] }),
  ]
  t.strictSame(
    damaged.filter(code => find(code) !== undefined),
    [],
  )
  const file = path.join(directory, 'changed.js')
  const code = inlineMap(map)
  writeFileSync(file, code)
  const place = { file, line: 1, column: 1 }
  t.equal(findSource(place, hashOf('other')), undefined, 'the running code is not that of the file')
  t.equal(findSource(place), undefined, 'the file is newer than the process')
  t.match(findSource(place, hashOf(code)), { file: path.join(directory, 'a.ts') })
  rmSync(file)
  t.match(findSource(place, hashOf(code)), { file: path.join(directory, 'a.ts') }, 'it is read once')
})

t.test('a frame of the application is in its source, if its file is older than the process', async t => {
  const directory = t.testdir()
  const code = inlineMap({ version: 3, sources: ['../src/a.ts'], mappings: 'AAAA' })
  const write = (name: string) => {
    const file = path.join(directory, name, 'a.js')
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, code)
    utimesSync(file, 1, 1)
    return { function: 'list', file, line: 1, column: 5, isAsync: false }
  }
  const frame = write('out')
  t.strictSame(toSource(frame, directory), { ...frame, file: path.join(directory, 'src/a.ts'), column: 1 })
  for (const other of [write('node_modules/x'), { ...frame, file: 'node:fs' }, { isAsync: false }])
    t.strictSame(toSource(other, directory), other)
})

t.test('a file that was loaded after it was written has its source, but not if it was written again since', async t => {
  const directory = t.testdir({ 'src.ts': '' })
  const frameOf = (name: string) => {
    const file = path.join(directory, name)
    writeFileSync(file, inlineMap({ version: 3, sources: ['src.ts'], mappings: encodeMappings([[[0, 0, 6, 1]]]) }))
    return { file, line: 1, column: 1, isAsync: false }
  }
  const frame = frameOf('chunk.js')
  t.strictSame(toSource(frame, directory), frame, 'the load of the file is not known')
  utimesSync(frame.file, 0, Date.now() / 1000 - 1)
  noteLoad(frame.file)
  t.match(toSource(frame, directory), { file: path.join(directory, 'src.ts'), line: 7, column: 2 })
  const written = frameOf('written.js')
  noteLoad(written.file)
  utimesSync(written.file, 0, Date.now() / 1000 + 1)
  t.strictSame(toSource(written, directory), written)
})

t.test('a frame that Node has written in its source stays there, also if code and source have one name', async t => {
  const file = path.join(t.testdir(), 'shop.ts')
  const code = 'exports.list = () => new Error("here")\n'
  const mappings = encodeMappings([[[0, 0, 6, 0]], [[0, 0, 8, 0]]])
  // As a loader of TypeScript does.
  const loaded = Object.assign(new Module(file), { filename: file }) as Module & {
    _compile(code: string, file: string): void
  }
  loaded._compile(code + inlineMap({ version: 3, sources: ['shop.ts'], mappings }), file)
  const [frame = { isAsync: false }] = parseStack(loaded.exports.list())
  t.match(frame, { file, line: 7 })
  t.strictSame(toSource(frame, path.dirname(file)), frame)
})

const line = (text: number, source = 0) => encodeMappings([[[0, source, text, 0]]])

t.test('the source of a bundle may be generated itself', async t => {
  const directory = t.testdir({ 'page.vue': '' })
  const steps = [0, 1, 2].map(index => path.join(directory, `step-${index}.js`))
  for (const [index, file] of steps.entries()) {
    const sources = [index === 0 ? 'page.vue' : `step-${index - 1}.js`]
    writeFileSync(file, inlineMap({ version: 3, sources, mappings: line(index === 0 ? 6 : 0) }))
    utimesSync(file, 1, 1)
  }
  const code = inlineMap({ version: 3, sources: ['step-2.js'], mappings: line(0) })
  const page = { file: path.join(directory, 'page.vue'), line: 7, column: 1 }
  t.strictSame(createFinder(directory)(code), page)
  const loop = path.join(directory, 'loop.js')
  writeFileSync(loop, inlineMap({ version: 3, sources: ['loop.js'], mappings: line(0) }))
  utimesSync(loop, 1, 1)
  t.strictSame(findSource({ file: loop, line: 1, column: 1 }), { file: loop, line: 1, column: 1 }, 'a file of itself')
})

t.test('a map that names packages only, without a place, is that of no file of the application', async t => {
  const directory = t.testdir({ node_modules: {} })
  const packages = { version: 3, sources: ['node_modules/h3/index.mjs'], mappings: '' }
  const found = createFinder(directory)(inlineMap(packages))
  t.match(found, { isPackaged: true, line: 1, column: 1 })
  t.match(locateFrame(found ?? {}, directory), { file: '0.js', origin: 'vendor' })
  t.equal(createFinder(directory)(inlineMap({ ...packages, sources: ['a.ts'] })), undefined)
})

t.test('code that runs with a line behind it has the map of its file', async t => {
  const directory = t.testdir({ 'a.ts': '' })
  const code = inlineMap({ version: 3, sources: ['a.ts'], mappings: line(4) })
  const file = path.join(directory, 'a.js')
  writeFileSync(file, code)
  const running = `${code}\nmore()`
  t.equal(findSource({ file, line: 1, column: 1 }, hashOf(running)), undefined)
  noteCompleted(code, `${running} `)
  t.match(findSource({ file, line: 1, column: 1 }, hashOf(`${running} `)), { line: 5 })
})

t.test('a stack with paths as seen from the folder of the application', async t => {
  const directory = t.testdir({ src: { 'shelf.js': '' } })
  const read = (file: string) => toSource({ file, line: 2, column: 9, isAsync: false }, directory)
  t.strictSame(read('src/shelf.js').file, path.join(directory, 'src/shelf.js'))
  for (const other of ['src/none.js', 'node:fs', '[eval]', 'https://shop/src/shelf.js'])
    t.equal(read(other).file, other)
})
