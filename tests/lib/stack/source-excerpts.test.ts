import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { Redactor } from '#lib/redact/redactor.ts'
import { SourceExcerpts } from '#lib/stack/source-excerpts.ts'

const twenty = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`).join('\n')

/** A project of files, and something beside it. */
function project(t: Test, files: Record<string, string>, redactor = new Redactor()) {
  const root = path.join(t.testdir(), 'project')
  const write = (name: string, content: string) => {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    writeFileSync(path.join(root, name), content)
  }
  for (const [name, content] of Object.entries(files)) write(name, content)
  const excerpts = new SourceExcerpts(root, redactor)
  return { root, write, find: (name: string, line: number) => excerpts.find(path.resolve(root, name), line) }
}

t.test('an excerpt has five lines on each side, as far as there are lines', async t => {
  const { find } = project(t, { 'a.ts': twenty, 'crlf.ts': 'one\r\ntwo\r\n' })
  t.strictSame(find('a.ts', 10)?.start, 5)
  t.strictSame(
    find('a.ts', 10)?.lines,
    ['5', '6', '7', '8', '9', '10', '11', '12', '13', '14', '15'].map(n => `line ${n}`),
  )
  t.strictSame(find('a.ts', 2), { start: 1, lines: ['1', '2', '3', '4', '5', '6', '7'].map(n => `line ${n}`) })
  t.strictSame(find('a.ts', 20)?.lines.at(-1), 'line 20')
  t.strictSame(find('crlf.ts', 1), { start: 1, lines: ['one', 'two', ''] })
  for (const line of [0, -1, 21]) t.equal(find('a.ts', line), undefined, `line ${line}`)
})

t.test('only sources of the project are read', async t => {
  const { find, root, write } = project(t, {
    'src/deep/a.ts': twenty,
    'src/var/a.ts': twenty,
    'node_modules/x/a.js': twenty,
    'src/node_modules/x/a.js': twenty,
    'var/log/a.log': twenty,
    '.env': 'A=1',
    '.env.local': 'A=1',
    'src/.hidden/a.ts': twenty,
    '../beside/secret.ts': twenty,
    '../project-two/a.ts': twenty,
  })
  symlinkSync('../beside/secret.ts', path.join(root, 'link.ts'))
  symlinkSync('../beside', path.join(root, 'folder'))
  symlinkSync('.env', path.join(root, 'env.ts'))
  symlinkSync('src/deep/a.ts', path.join(root, 'inner.ts'))
  symlinkSync('loop.ts', path.join(root, 'loop.ts'))
  write('gone.ts', twenty)
  rmSync(path.join(root, 'gone.ts'))
  execFileSync('mkfifo', [path.join(root, 'pipe.ts')])

  for (const name of ['src/deep/a.ts', 'src/var/a.ts', 'inner.ts']) t.ok(find(name, 3), name)
  for (const name of [
    'node_modules/x/a.js',
    'src/node_modules/x/a.js',
    'var/log/a.log',
    '.env',
    '.env.local',
    'src/.hidden/a.ts',
    '../beside/secret.ts',
    '../project-two/a.ts',
    'link.ts',
    'folder/secret.ts',
    'env.ts',
    'loop.ts',
    'gone.ts',
    'pipe.ts',
    'src',
    '.',
    '/etc/passwd',
    'node:internal/modules/run_main',
  ]) {
    t.equal(find(name, 1), undefined, name)
  }
  const excerpts = new SourceExcerpts(root, new Redactor())
  for (const file of ['node:fs', '[eval]', '', 'file://host/a.ts', '\0'])
    t.equal(excerpts.find(file, 1), undefined, file)
})

t.test('sources of the package are read, too, and not those of its packages', async t => {
  const { root } = project(t, {
    'a.ts': 'application',
    'node_modules/sinfonietta/dist/a.js': 'package',
    'node_modules/sinfonietta/.env': 'A=1',
    'node_modules/sinfonietta/node_modules/x/a.js': 'library',
    'node_modules/x/a.js': 'library',
    '../clone/lib/a.ts': 'linked',
    '../clone/node_modules/x/a.js': 'library',
  })
  const linesOf = (own: string, name: string) =>
    new SourceExcerpts(root, new Redactor(), path.join(root, own)).find(path.join(root, name), 1)?.lines
  const installed = 'node_modules/sinfonietta'
  t.strictSame(linesOf(installed, 'a.ts'), ['application'])
  t.strictSame(linesOf(installed, `${installed}/dist/a.js`), ['package'])
  for (const name of [
    `${installed}/.env`,
    `${installed}/node_modules/x/a.js`,
    'node_modules/x/a.js',
    '../clone/lib/a.ts',
  ])
    t.equal(linesOf(installed, name), undefined, name)
  t.strictSame(linesOf('../clone', '../clone/lib/a.ts'), ['linked'])
  t.equal(linesOf('../clone', '../clone/node_modules/x/a.js'), undefined)
})

t.test('long lines are cut, and endless files are not read', async t => {
  const { find } = project(t, { 'long.ts': `${'x'.repeat(9000)}\nshort`, 'huge.ts': '\n'.repeat(2 * 1024 * 1024 + 1) })
  const [long, short] = find('long.ts', 1)?.lines ?? []
  t.equal(long?.length, 500)
  t.match(long, /…$/)
  t.equal(short, 'short')
  t.equal(find('huge.ts', 1), undefined)
})

t.test('secrets in a source are masked', async t => {
  const redactor = new Redactor({ APP_SECRET: 'canary-5f1d', PEM_KEY: 'canary-one\ncanary-two' })
  const source = "const apiKey = 'canary-9f3b'\nfetch('/?token=canary-9f3b')\nsign('canary-5f1d')"
  const { find } = project(t, { 'a.ts': source, 'pem.ts': `x\ncanary-one\ncanary-two\n${twenty}` }, redactor)
  t.notMatch(find('a.ts', 1)?.lines.join(), /canary/)
  t.strictSame(find('a.ts', 1)?.lines, ["const apiKey = '******'", "fetch('/?token=******')", "sign('******')"])
  t.equal(find('pem.ts', 4), undefined, 'lines with unknown numbers are not shown')
})

t.test('excerpts are cached, up to a limit', async t => {
  const { find, write } = project(t, { 'a.ts': 'old', 'b.ts': '\n'.repeat(300) })
  t.strictSame(find('a.ts', 1)?.lines, ['old'])
  write('a.ts', 'new')
  t.strictSame(find('a.ts', 1)?.lines, ['old'])
  for (let line = 1; line <= 200; line++) find('b.ts', line)
  t.strictSame(find('a.ts', 1)?.lines, ['new'])
})
