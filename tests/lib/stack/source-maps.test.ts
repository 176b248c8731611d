import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import Module from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { t } from 'tap'
import { findSource, findSourceLine, noteCompleted, noteLoad, toSource } from '#lib/stack/source-maps.ts'
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

t.test('a name with spaces, beside a package.json of a compiler', async t => {
  const map = (source: string) => JSON.stringify({ version: 3, sources: [source], mappings: 'AAAA' })
  const marked = { 'package.json': '{\n  "type": "module"\n}\n', 'a b.js.map': map('webpack://shop/./src/a b.ts') }
  const named = { 'package.json': '{ "type": "module", "name": "list" }', 'a b.js.map': marked['a b.js.map'] }
  const directory = t.testdir({ 'package.json': '{}', src: { 'a b.ts': '' }, out: marked, list: named })
  const code = 'run()\n//# sourceMappingURL=a b.js.map'
  const find = (folder: string) => createFinder(path.join(directory, folder))(code)
  t.strictSame(find('out'), { file: path.join(directory, 'src/a b.ts'), line: 1, column: 1 })
  t.equal(find('list'), undefined, 'a package of its own')
})

t.test('a line of generated code has a source line if it is the code of one', async t => {
  const directory = t.testdir({ 'package.json': '{}', 'a.ts': '', 'b.ts': '' })
  const rows: Readonly<Record<string, readonly [segments: number[][], column: number, line: number | undefined]>> = {
    'one segment': [[[4, 0, 6, 2]], 0, 7],
    'two of a line': [
      [
        [4, 0, 6, 2],
        [9, 0, 6, 8],
      ],
      0,
      7,
    ],
    'of two lines': [
      [
        [4, 0, 6, 2],
        [9, 0, 7, 0],
      ],
      0,
      undefined,
    ],
    'of two files': [
      [
        [4, 0, 6, 2],
        [9, 1, 6, 0],
      ],
      0,
      undefined,
    ],
    'another line before the column': [
      [
        [4, 0, 6, 2],
        [9, 0, 7, 0],
      ],
      9,
      8,
    ],
    'within a segment': [
      [
        [4, 0, 6, 2],
        [9, 0, 7, 0],
      ],
      12,
      8,
    ],
    'code of no source between': [[[4, 0, 6, 2], [6], [9, 0, 6, 0]], 0, 7],
    nothing: [[], 0, undefined],
  }
  const found = Object.entries(rows).map(([name, [segments, column, line]], index) => {
    const file = path.join(directory, `${index}.js`)
    writeFileSync(file, inlineMap({ version: 3, sources: ['a.ts', 'b.ts'], mappings: encodeMappings([segments]) }))
    utimesSync(file, 1, 1)
    return findSourceLine({ file, line: 1, column: column + 1 }) === line ? '' : name
  })
  t.strictSame(found.filter(Boolean), [])
  const cut = (column: number) => {
    const file = path.join(directory, `cut-${column}.js`)
    const map = { version: 3, sources: ['a.ts'], mappings: line(6) }
    const sections = [0, column].map(each => ({ offset: { line: 0, column: each }, map }))
    writeFileSync(file, inlineMap({ version: 3, sections }))
    utimesSync(file, 1, 1)
    return findSourceLine({ file, line: 1, column: 3 })
  }
  t.strictSame([cut(2), cut(5)], [7, undefined], 'sections')
  t.equal(findSourceLine({ file: path.join(directory, 'none.js'), line: 5, column: 1 }), 5, 'without a map')
})

t.test('a place is that of the source, or stays in the bundle: never a wrong one', t => {
  const directory = t.testdir({
    app: { 'package.json': '{}', dist: {}, src: { 'a.ts': '' }, lib: { 'x.js': '' } },
    outside: { 'b.ts': '' },
  })
  const app = path.join(directory, 'app')
  const source = path.join(app, 'src/a.ts')
  const at = (file: string, line = 7) => `${path.relative(directory, file)}:${line}:1`
  const map = { version: 3, sources: ['../src/a.ts'], names: ['list'], mappings: encodeMappings([[[0, 0, 6, 0, 0]]]) }
  const own = at(source)
  const none = 'dist'
  const long = 'A'.repeat(33 * 1024 * 1024)
  const data = (head: string, text: string) => `//# sourceMappingURL=data:application/json${head},${text}`
  const json = JSON.stringify(map)
  const base64 = Buffer.from(json).toString('base64')
  const named = (...sources: unknown[]) => inlineMap({ ...map, sources })
  const sections = (...offsets: number[]) =>
    inlineMap({ version: 3, sections: offsets.map(line => ({ offset: { line, column: 0 }, map })) })
  const examples: Readonly<Record<string, readonly [code: string, is: string, line?: number]>> = {
    'an index map': [sections(0, 1), own, 2],
    'an index map that begins later': [sections(1), none],
    'a section of another version': [
      inlineMap({ sections: [{ offset: { line: 0, column: 0 }, map: { ...map, version: 2 } }] }),
      none,
    ],
    'a root': [inlineMap({ ...map, sourceRoot: '../src', sources: ['a.ts'] }), own],
    'a root that is a URL': [inlineMap({ ...map, sourceRoot: 'webpack://shop/', sources: ['src/a.ts'] }), own],
    'a root that is a path': [inlineMap({ ...map, sourceRoot: path.join(app, 'src'), sources: ['a.ts'] }), own],
    'no root': [inlineMap({ ...map, sourceRoot: null }), own],
    'a root of another machine': [inlineMap({ ...map, sourceRoot: '/builds/shop/src', sources: ['a.ts'] }), none],
    'no content, and a missing file of the project': [
      inlineMap({ ...map, sources: ['../src/gone.ts'], sourcesContent: [null] }),
      at(path.join(app, 'src/gone.ts')),
    ],
    'a file beside the project': [named('../../outside/b.ts'), at(path.join(directory, 'outside/b.ts'))],
    'a missing file beside the project': [named('../../outside/gone.ts'), none],
    'a missing file of another machine': [named('file:///builds/shop/src/a.ts'), none],
    'a missing file of a package beside the project': [
      named('../../node_modules/next/src/a.ts'),
      at(path.join(directory, 'node_modules/next/src/a.ts')),
    ],
    'a URL with a path behind three slashes': [named(`file:///${source}`), own],
    'a path of Windows': [named('C:\\shop\\src\\a.ts'), none],
    'a URL of Windows': [named('file:///C:/shop/src/a.ts'), none],
    backslashes: [named('..\\src\\a.ts'), own],
    'a layer of Next.js': [named('webpack://_N_E/(rsc)/./src/a.ts?1a2b'), own],
    'a module of a bundler': [named('webpack://shop/webpack/runtime/define'), none],
    Turbopack: [named('turbopack:///[project]/src/a.ts'), own],
    'a part of Turbopack': [named('turbopack:///[turbopack]/shared/runtime.ts'), none],
    'no name': [named(null), none],
    'base64 with a charset': [data(';charset=utf-8;base64', base64), own],
    'percent-encoded': [data(';charset=utf-8', encodeURIComponent(json)), own],
    'not encoded': [data('', json), own],
    'another comment behind': [`${inlineMap(map)}//# debugId=1a2b\r\n\r\n`, own],
    'code behind': [`${inlineMap(map)}//# debugId=1a2b\nrun()`, none],
    'a name at column 0': [inlineMap(map), own],
    'a version 2': [inlineMap({ ...map, version: 2 }), none],
    'no version': [inlineMap({ ...map, version: undefined }), none],
    'a line before the first': [inlineMap({ ...map, mappings: encodeMappings([[[0, 0, -3, 0]]]) }), none],
    'a source before the first': [inlineMap({ ...map, mappings: encodeMappings([[[0, -1, 3, 0]]]) }), none],
    'a source behind the last': [inlineMap({ ...map, mappings: encodeMappings([[[0, 4, 3, 0]]]) }), none],
    'a broken number': [inlineMap({ ...map, mappings: 'AAgggggggggA' }), none],
    'no list': [inlineMap({ ...map, sources: 1 }), none],
    null: ['//# sourceMappingURL=data:application/json,null', none],
    'a map that is too long': [data('', JSON.stringify({ ...map, x: long })), none],
  }
  const wrong = Object.entries(examples).flatMap(([name, [code, is, line = 1]], index) => {
    const file = path.join(app, 'dist', `${index}.js`)
    writeFileSync(file, code)
    const found = findSource({ file, line, column: 1 }, hashOf(code))
    const place = found === undefined ? none : `${path.relative(directory, found.file)}:${found.line}:${found.column}`
    return place === is ? [] : [[name, place, is]]
  })
  t.strictSame(wrong, [])
  t.end()
})

t.test('a map that was written again stays that of the running code, and code from a string has none', async t => {
  const directory = t.testdir({ 'package.json': '{}', 'a.ts': '' })
  const write = (line: number, code: string) => {
    const map = JSON.stringify({ version: 3, sources: ['a.ts'], mappings: encodeMappings([[[0, 0, line, 0]]]) })
    writeFileSync(path.join(directory, 'app.js.map'), map)
    writeFileSync(path.join(directory, 'app.js'), code)
  }
  const first = 'run()\n//# sourceMappingURL=app.js.map'
  write(3, first)
  const place = { file: path.join(directory, 'app.js'), line: 1, column: 1 }
  t.match(findSource(place, hashOf(first)), { line: 4 })
  write(8, `more()\n${first}`)
  t.match(findSource(place, hashOf(first)), { line: 4 }, 'the code that runs')
  t.match(findSource(place, hashOf(`more()\n${first}`)), { line: 9 }, 'the code that was loaded later')
  t.equal(findSource(place, hashOf('other')), undefined)
  for (const file of ['webpack-internal:///(rsc)/./a.ts', 'evalmachine.<anonymous>', '[eval]', ''])
    t.equal(findSource({ file, line: 1, column: 1 }, hashOf(first)), undefined, file)
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
