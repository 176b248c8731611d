import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { readImporters } from '#bin/testing/run-tests.ts'
import { createSmallApplication } from '#tests/support/create-small-application.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { startApplicationProgram } from './site-process.ts'

t.test('importers are found through other files, but not through types, packages or texts', async t => {
  const folder = t.testdir({
    'package.json': JSON.stringify({ type: 'module', imports: { '#own/*': './own/*' } }),
    own: {
      'base.js': "import './circle.js'\n",
      'circle.js': "export * from './base.js'\n",
      'late.js': "export const load = () => Promise.all([import('./none.js'), import('./base.js')])\n",
    },
    node_modules: { other: { 'package.json': '{ "main": "main.js" }', 'main.js': "import '../../own/base.js'\n" } },
    'by-name.js': "import { a } from '#own/base.js'\n",
    'by-other.js': 'import { a } from "./by-name.js"\nimport "other"\n',
    'by-call.js': "import {\n  load,\n} from './own/late.js'\n",
    'by-type.js': "import type { A } from './own/base.js'\nexport type { B } from './own/base.js'\n",
    'by-package.js': "import 'other'\nimport 'missing'\nimport 'node:fs'\n",
  })
  const inFolder = (name: string) => path.join(folder, name)
  const names = ['by-name', 'by-other', 'by-call', 'by-type', 'by-package', 'removed'].map(name => `${name}.js`)
  const findImporters = readImporters(folder, names.map(inFolder))
  const found = (name: string) => findImporters(inFolder(name)).map(file => path.relative(folder, file))
  t.strictSame(found('own/base.js'), ['by-name.js', 'by-other.js', 'by-call.js'])
  t.strictSame(found('own/late.js'), ['by-call.js'])
  t.strictSame(found('own/none.js'), ['by-call.js'], 'a file that is gone')
  t.strictSame(found('by-type.js'), ['by-type.js'])
  t.strictSame(found('own/unknown.js'), [])
})

t.test('bin/test --watch runs the named tests at once, again when they are affected, and only them', async t => {
  const directory = t.testdir()
  createSmallApplication(directory)
  const inApplication = (file: string) => path.join(directory, file)
  const watching = startApplicationProgram(t, ['runTests', directory, '--watch', inApplication('tests/home.test.ts')])
  const total = /1 test file: 1 passed, 0 failed\n/
  await watching.until(total)
  writeFileSync(inApplication('tests/other.test.ts'), '\n')
  await watching.until(/tests\/other\.test\.ts: no test imports it\n/)
  const home = inApplication('bundles/home/home-bundle.ts')
  writeFileSync(home, `${readFileSync(home, 'utf8')}// A comment.\n`)
  await watching.until(/bundles\/home\/home-bundle\.ts: 1 test file\n/)
  await watching.until(total)
  watching.child.kill('SIGTERM')
  t.equal(await watching.end(), 0)
})

t.test('bin/test --changed runs the tests that import what has changed, and the named ones', async t => {
  const directory = t.testdir()
  createSmallApplication(directory)
  const inApplication = (file: string) => path.join(directory, file)
  writeFileSync(inApplication('.gitignore'), 'dist\nnode_modules\nvar\n')
  const run = async (...words: string[]) => {
    const program = startApplicationProgram(t, ['runTests', directory, ...words])
    return { code: await program.end(), stdout: program.stdout, stderr: program.stderr }
  }
  const git = (...words: string[]) => runProcess(t, ['git', '-C', directory, ...words])
  const commit = () => git('-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-q', '-a', '-m', 'all')
  await git('init', '-q', '-b', 'main')
  await git('add', '.')
  await commit()
  t.match(await run('--changed'), { code: 0, stdout: /^$/ })
  const other = inApplication('tests/other.test.ts')
  writeFileSync(other, `import { t } from 'tap'\n\nt.test('other', async t => t.ok(true))\n`)
  const added = await run('--changed')
  t.match(added, { code: 0, stdout: /^tests\/other\.test\.ts: 1 test file\n/ })
  t.match(added.stdout, /^1 passed, 0 failed/m)
  const home = inApplication('bundles/home/home-bundle.ts')
  writeFileSync(home, `${readFileSync(home, 'utf8')}// A comment.\n`)
  const both = await run('--changed=main')
  t.match(both.stdout, /^bundles\/home\/home-bundle\.ts: 1 test file\n/)
  t.match(both.stdout, /^2 passed, 0 failed/m)
  rmSync(other)
  await commit()
  t.match((await run('--changed', inApplication('tests/home.test.ts'))).stdout, /^1 passed, 0 failed/m)
  const unknown = 'git does not know what has changed since nowhere.\n'
  t.strictSame(await run('--changed=nowhere'), { code: 1, stdout: '', stderr: unknown })
})

t.test('a mistyped option of bin/test is named', async t => {
  const folder = t.testdir({ tests: { 'a.test.ts': '' } })
  const program = startApplicationProgram(t, ['runTests', folder, '--wach'])
  t.equal(await program.end(), 1)
  t.equal(program.stderr, 'There is no option --wach; the nearest is "--watch".\n')
})

t.test('bin/test --watch takes no other options', async t => {
  const program = startApplicationProgram(t, [
    'runTests',
    t.testdir({ tests: { 'a.test.ts': '' } }),
    '--watch',
    '--jobs=1',
  ])
  t.equal(await program.end(), 1)
  t.equal(program.stderr, 'Beside --watch there are no options, only files and folders of tests.\n')
})
