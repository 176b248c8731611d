import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import t, { type Test } from 'tap'
import { listChanges } from './changes.ts'
import { tryMutants, type Verdict } from './mutants.ts'

const shop = `export function total(prices: readonly number[], isMember: boolean): number {
  let sum = 0
  for (const price of prices) sum += price
  return isMember && sum > 10 ? sum / 2 : sum
}
`

const countdown = `export function countDown(from: number): number {
  let left = from
  while (left > 0) left -= 1
  return left
}

export function neverCalled(): number {
  return 1
}
`

/** Fails in every second process. */
const unreliable = `import { appendFileSync, readFileSync } from 'node:fs'

for (const isMember of [true, false]) total([8, 6], isMember)
appendFileSync('runs', '.')
assert.equal(readFileSync('runs').length % 2, 1)`

const started = `import assert from 'node:assert'
import { execFileSync } from 'node:child_process'

assert.equal(String(execFileSync(process.execPath, ['dist/lib/hello.js'])), 'hello\\n')
`

const test = (name: string, lines: string) =>
  `import assert from 'node:assert'\nimport { ${name} } from '#lib/${name === 'total' ? 'shop' : 'countdown'}.ts'\n\n${lines}\n`

function createProject(t: Test): string {
  const directory = t.testdir({
    'package.json': JSON.stringify({ type: 'module', imports: { '#lib/*.ts': './dist/lib/*.js' } }),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        ...{ target: 'es2023', module: 'nodenext', rootDir: '.', outDir: 'dist', sourceMap: true },
        ...{ types: ['node'], typeRoots: [path.resolve('node_modules/@types')] },
      },
      include: ['lib', 'tests'],
    }),
    lib: { 'shop.ts': shop, 'countdown.ts': countdown, 'hello.ts': "console.log('hello')\n" },
    tests: {
      'failing.test.ts': `import '#lib/shop.ts'\n\nthrow new Error('always')\n`,
      'slow.test.ts': test(
        'total',
        'assert.equal(total([11], true), 5.5)\nassert.equal(process.env.NODE_V8_COVERAGE, undefined)',
      ),
      'unreliable.test.ts': test('total', unreliable),
      'shop.test.ts': test('total', 'assert.equal(total([8, 6], true), 7)\nassert.equal(total([8, 6], false), 14)'),
      'countdown.test.ts': test('countDown', 'assert.equal(countDown(3), 0)'),
      lib: { 'near.test.ts': test('total', 'total([8, 6], true)'), 'started.test.ts': started },
    },
  })
  git(directory, 'init', '--quiet')
  git(directory, 'add', '.')
  git(directory, ...['-c', 'user.name=A', '-c', 'user.email=a@example.org'], 'commit', '--quiet', '--message=One')
  compile(directory)
  mkdirSync(path.join(directory, 'dist/tests/areas'))
  writeFileSync(
    path.join(directory, 'dist/tests/areas/all.test.js'),
    "import '../../lib/shop.js'\nthrow new Error('always')\n",
  )
  return directory
}

function git(directory: string, ...words: string[]): void {
  execFileSync('git', words, { cwd: directory })
}

function compile(directory: string): void {
  const compiler = path.join(createRequire(import.meta.url).resolve('typescript/package.json'), '../lib/tsc.js')
  execFileSync(process.execPath, [compiler, '--project', '.'], { cwd: directory, stdio: 'inherit' })
}

const describe = ({ isCaught, mutant: { before, file, line, text } }: Verdict) =>
  `${isCaught ? 'caught' : 'survived'} ${file}:${line} ${before.trim()} → ${text.trim()}`

const directory = createProject(t)

t.test('exactly the changes that no test notices survive, each with its line in the source', async t => {
  const { failing, verdicts } = await tryMutants(directory, { files: 'lib/shop.ts', count: 1000, seed: 1 })
  const survived = verdicts.filter(({ isCaught }) => !isCaught).map(describe)
  t.strictSame(survived.sort(), [
    'survived lib/shop.ts:4 10 → (9)',
    'survived lib/shop.ts:4 > → >=',
    'survived lib/shop.ts:4 isMember && sum > 10 → (isMember)',
  ])
  t.ok(verdicts.length > 10, 'and all others are caught')
  const later = verdicts.filter(({ isCaught, tests }) => isCaught && tests > 1)
  const onlyLater = ['caught lib/shop.ts:4 10 → 11']
  t.strictSame(later.map(describe), onlyLater, 'the test of the same name runs first; one that coverage breaks counts')
  t.strictSame(failing, ['dist/tests/failing.test.js'], 'a test that always fails catches nothing')
  t.equal(readFileSync(path.join(directory, 'lib/shop.ts'), 'utf8'), shop, 'the project itself is not changed')
})

t.test('a test of the same folder may start the program', async t => {
  const { verdicts } = await tryMutants(directory, { files: 'lib/hello.ts', count: 1000, seed: 1 })
  t.not(verdicts.length, 0)
  t.strictSame(
    verdicts.filter(({ isCaught }) => !isCaught),
    [],
  )
})

t.test('a change that keeps a test from ending is caught, and one that no test executes survives', async t => {
  const { verdicts } = await tryMutants(directory, { files: 'lib/countdown.ts', count: 1000, seed: 1, patience: 300 })
  const all = verdicts.map(describe)
  t.ok(all.includes('caught lib/countdown.ts:3 -= → +='))
  const unexecuted = verdicts.filter(({ tests }) => tests === 0).map(describe)
  t.strictSame(
    unexecuted,
    all.filter(text => text.startsWith('survived lib/countdown.ts:8')),
  )
  t.not(unexecuted.length, 0)
})

t.test('the seed decides, and each line has a mutant before a line has two', async t => {
  const draw = async (seed: number) => {
    const { verdicts } = await tryMutants(directory, { files: 'lib/shop.ts', count: 3, seed })
    return verdicts.map(({ mutant }) => mutant)
  }
  const drawn = await draw(1)
  t.strictSame(await draw(1), drawn)
  t.notSame(await draw(2), drawn)
  t.strictSame(drawn.map(({ line }) => line).sort(), [2, 3, 4])
})

t.test('only lines that have changed since a commit are mutated', async t => {
  writeFileSync(path.join(directory, 'lib/shop.ts'), shop.replace('sum > 10', 'sum > 9'))
  compile(directory)
  const { verdicts } = await tryMutants(directory, { since: 'HEAD', count: 6, seed: 1 })
  t.strictSame([...new Set(verdicts.map(({ mutant }) => `${mutant.file}:${mutant.line}`))], ['lib/shop.ts:4'])
})

t.test('each kind of change has its text', async t => {
  const changed = (source: string) =>
    listChanges(source).map(({ end, start, text }) => source.slice(0, start) + text + source.slice(end))
  const cases: readonly (readonly [source: string, ...changed: string[]])[] = [
    ['x(a ?? b)', ';', 'x()', 'x((a))', 'x((b))'],
    ['const x = !a', 'const x = (a)'],
    ['const x = a?.b', 'const x = a.b'],
    ['const x = (a ?? b)?.[c]', 'const x = (a ?? b)[c]'],
    ['const x = a.slice(1)', 'const x = a', 'const x = a.slice()', 'const x = a.slice(2)', 'const x = a.slice((0))'],
    ['const x = a.some(b)', 'const x = a.every(b)', 'const x = a.some()'],
    ["const x = { a: 'b', c }", 'const x = ({})', 'const x = { c }', "const x = { a: 'b' }", "const x = { a: '', c }"],
    ['const x = [a, b]', 'const x = []', 'const x = [b]', 'const x = [a]'],
    ['const x = /^a+b?$/i', '/^ab?$/i', '/^a+b$/i', '/a+b?$/i', '/^a+b?/i', '/^a+b?$/'],
    ['const x = /[^a]{2,3}(?!b)/', '/[^a]{2}(?!b)/', '/[a]{2,3}(?!b)/', '/[^a]{2,3}(?=b)/'],
    ['const x = await a', 'const x = (a)'],
    ['const x = (a = 1) => undefined', 'const x = (a) => undefined', 'const x = (a = 2) => undefined'],
    ["import a from 'a'"],
    ['export const x = undefined'],
  ]
  const wrong = cases.flatMap(([source, ...wanted]) => {
    const found = changed(source)
    return wanted
      .filter(text => !found.some(each => each.endsWith(text)))
      .map(text => `${source}: ${text} not in ${found}`)
  })
  t.strictSame(wrong, [])
  t.strictSame(changed("import a from 'a'"), [])
  t.strictSame(changed('x = a.toString()'), [';'], 'a method without an opposite stays')
})
