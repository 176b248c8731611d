import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { createFrameworkBundle } from 'sinfonietta'
import { makerBundle } from 'sinfonietta/console'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { t } from 'tap'
import { createApplication, findPackage, runSinfonietta } from '#bin/package/new-application.ts'
import { toTap } from '#bundles/maker/import-order.ts'
import { packageDirectory, version } from '#lib/package.ts'
import { createFakeStream, runInTerminal } from '#tests/support/fake-terminal.ts'
import { makeApplication } from '#tests/support/new-application.ts'

function run(directory: string, ...commandLine: string[]) {
  const [stdout, stderr] = [createFakeStream(), createFakeStream()]
  const code = runSinfonietta(commandLine, { directory, stdout, stderr })
  return { code, stdout: stdout.text, stderr: stderr.text }
}

/** The files in and below a folder. */
function list(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return entries.filter(file => statSync(path.join(directory, file)).isFile()).sort()
}

t.test('sinfonietta new creates an application of twelve files', async t => {
  const directory = path.join(t.testdir(), 'my sités')
  const { code, stderr, stdout } = run(directory, 'new', 'my-site')
  t.equal(stderr, '')
  t.equal(code, 0)
  t.equal(
    stdout,
    '12 files are created. Next:\n\n  cd my-site\n  npm install\n  npm start\n\nThe home page will be at http://127.0.0.1:8000/\n',
  )
  const folder = path.join(directory, 'my-site')
  const read = (file: string) => readFileSync(path.join(folder, file), 'utf8')
  t.strictSame(list(folder), [
    '.env',
    '.gitignore',
    'AGENTS.md',
    'bin/console',
    'bin/serve',
    'bin/test',
    'bundles/home/home-bundle.ts',
    'bundles/index.ts',
    'package.json',
    'templates/home/home.hbs',
    'tests/home.test.ts',
    'tsconfig.json',
  ])
  for (const file of list(folder)) t.notMatch(read(file), 'acme-shop', file)
  t.match(read('templates/home/home.hbs'), '<h1>Welcome to <span>my-site</span></h1>')
  t.match(read('.gitignore'), /^node_modules\/\n/)
  for (const program of ['serve', 'console', 'test']) {
    t.equal(statSync(path.join(folder, 'bin', program)).mode & 0o777, 0o755)
    t.ok(read(`bin/${program}`).split('\n').length <= 5, 'a program has three lines')
  }

  const manifest = JSON.parse(read('package.json'))
  const own = JSON.parse(readFileSync('package.json', 'utf8'))
  t.equal(manifest.name, 'my-site')
  t.equal(manifest.private, true)
  t.strictSame(manifest.engines, own.engines)
  t.strictSame(manifest.dependencies, { sinfonietta: `file:${path.relative(folder, packageDirectory)}` })
  const ranges = { ...own.dependencies, ...own.devDependencies }
  for (const [name, range] of Object.entries(manifest.devDependencies)) {
    t.equal(range, `^${ranges[name].replace(/^\D+/, '')}`, `${name} as in this repository`)
  }
})

t.test('with --login, the files are those of the example, and the database is chosen', async t => {
  const directory = t.testdir()
  const example = 'docs/examples/database-and-login'
  const read = (file: string) => readFileSync(path.join(directory, 'shop', file), 'utf8')
  const next =
    'createdb shop\n  createdb shop_test\n  bin/console database:migrate\n  bin/console database:seed\n  npm start'
  t.match(run(directory, 'new', 'shop', '--login', '--database=postgres'), { code: 0, stdout: next })
  const written = list(path.join(directory, 'shop'))
  t.strictSame(
    list(example).filter(file => !written.includes(file)),
    [],
  )
  t.strictSame(
    written.filter(file => /home/.test(file) || /acme-shop|database-url/.test(read(file))),
    [],
  )
  t.equal(read('bundles/index.ts'), readFileSync(path.join(example, 'bundles/index.ts'), 'utf8'))
  t.match(read('.env'), /^DATABASE_URL=postgres:\/\/localhost\/shop$/m)
  t.match(read('AGENTS.md'), 'bin/test tests/bundles/tools/tools-bundle.test.ts')
  const { dependencies, devDependencies } = JSON.parse(read('package.json'))
  t.strictSame(Object.keys(dependencies), [
    'valibot',
    'i18next',
    'nodemailer',
    'pg',
    'rate-limiter-flexible',
    'sinfonietta',
  ])
  t.ok('@types/pg' in devDependencies && '@types/nodemailer' in devDependencies)

  const sqlite = path.join(directory, 'lite')
  createApplication(sqlite, 'file:the-package', { database: 'sqlite' })
  const readLite = (file: string) => readFileSync(path.join(sqlite, file), 'utf8')
  t.strictSame(list(sqlite), written, 'the same files')
  const differing = written.filter(
    file => readLite(file).replaceAll('lite', 'shop') !== read(file).replaceAll('lite', 'shop'),
  )
  t.strictSame(
    differing,
    [
      '.env',
      'bundles/database/database.ts',
      'bundles/database/migrations.ts',
      'package.json',
      'tests/test-database.ts',
    ],
    'few of them know the database',
  )
  t.match(readLite('bundles/database/migrations.ts'), 'id integer PRIMARY KEY')
  t.match(JSON.parse(readLite('package.json')), {
    engines: { node: '>=22.13' },
    devDependencies: { '@types/node': '^24' },
  })
})

t.test('a wrong choice of the database names the right ones', async t => {
  const directory = t.testdir()
  const refused = (...words: string[]) => run(directory, 'new', 'shop', ...words)
  t.match(refused('--login', '--database', 'mysql'), {
    code: 64,
    stderr: '--database is sqlite or postgres, not "mysql".',
  })
  t.match(refused('--database', 'postgres'), { code: 64, stderr: 'add --login' })
  const alone = refused('--database', '--login')
  if (isBuiltin('node:sqlite')) t.match(alone, { code: 0 })
  else
    t.match(alone, {
      code: 64,
      stderr: /SQLite needs Node\.js 22\.13 or later, and this is .*: use --database postgres\./,
    })
})

t.test('with --tests tap, the tests and the generated ones are those of tap', async t => {
  const directory = t.testdir()
  t.match(run(directory, 'new', 'shop', '--tests', 'tap'), { code: 0, stdout: /^13 files are created/ })
  t.match(run(directory, 'new', 'other', '--tests=jest'), { code: 64, stderr: '--tests is node or tap, not "jest".\n' })
  const read = (file: string) => readFileSync(path.join(directory, 'shop', file), 'utf8')
  const { devDependencies: own } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.equal(JSON.parse(read('package.json')).devDependencies.tap, `^${own.tap}`)
  t.match(
    read('.taprc'),
    readFileSync('.taprc', 'utf8').split('\n').slice(-3).join('\n'),
    'the line of this repository',
  )

  // Of all generated tests; tap waits for a test only if it is async.
  const folder = 'bundles/maker/skeletons'
  const texts = list(folder).flatMap(file => {
    return file.endsWith('.test.ts.txt') ? [[file, toTap(readFileSync(path.join(folder, file), 'utf8'))] as const] : []
  })
  createApplication(path.join(directory, 'login'), 'file:the-package', { database: 'postgres', hasTap: true })
  for (const file of list(path.join(directory, 'login')).filter(file => file.endsWith('.test.ts')))
    texts.push([file, readFileSync(path.join(directory, 'login', file), 'utf8')])
  const isWrong = (text: string) =>
    !text.includes("import { test } from 'tap'") || /node:test|t\.after\(|^test\((?!.*, async )/m.test(text)
  t.strictSame(
    texts.flatMap(([file, text]) => (isWrong(text) ? [file] : [])),
    [],
  )
  t.ok(texts.some(([, text]) => text === read('tests/home.test.ts').replaceAll('shop', 'acme-shop')))
})

t.test('commands and documents that the application mentions exist', async t => {
  const directory = makeApplication(t)
  const texts = ['AGENTS.md', '.env', 'templates/home/home.hbs'].map(file =>
    readFileSync(path.join(directory, file), 'utf8'),
  )
  const all = texts.join('\n')
  const load = async () => [createFrameworkBundle(), makerBundle, createProfilerBundle()]
  const { stdout } = await runInTerminal('--help', { load, directory })
  const commands = new Set(all.match(/\b(?:make|debug|profiler):[a-z-]+/g))
  t.ok(commands.size > 8, 'commands are found')
  for (const command of commands) t.match(stdout, new RegExp(`^ +${command} `, 'm'))
  const documents = new Set(all.match(/(?<=node_modules\/sinfonietta\/)docs\/[\w/-]+\.md|guides\/[\w-]+\.md/g))
  t.ok(documents.size > 5, 'documents are found')
  for (const file of documents) t.ok(existsSync(file.replace(/^guides/, 'docs/guides')), file)
})

t.test('the folder may exist if it is empty, or contains the repository only', async t => {
  const directory = t.testdir({ shop: { '.git': { HEAD: '' } }, 'a b': {} })
  const here = run(path.join(directory, 'shop'), 'new', '.')
  t.equal(here.code, 0)
  t.match(here.stdout, 'Next:\n\n  npm install\n')
  t.match(run(path.join(directory, 'a b'), 'new', '../a b/shop').stdout, '  cd shop\n')
  const strange = ['c d', '$(touch X)', "it's", '`id`', 'a"b', '!!', 'a\nb'].map(folder => `${folder}/shop`)
  const wrong = strange.filter(folder => {
    const [, line = ''] = / {2}(cd [\s\S]*)\n {2}npm install/.exec(run(directory, 'new', folder).stdout) ?? []
    const shell = spawnSync('sh', ['-c', `${line} && pwd`], { cwd: directory, encoding: 'utf8' })
    return shell.stdout !== `${path.join(realpathSync(directory), folder)}\n`
  })
  t.strictSame(wrong, [], 'the printed line leads to the folder')
  t.notOk(existsSync(path.join(directory, 'X')))
})

t.test('nothing is written where something would be in the way', async t => {
  const directory = t.testdir({ shop: { 'mine.txt': '' }, file: '' })
  const refused = (folder: string, message: string) => {
    const { code, stderr } = run(directory, 'new', folder)
    t.equal(code, 1)
    t.match(stderr, message)
  }
  refused('shop', `${path.join(directory, 'shop')} is not empty: it contains mine.txt. Nothing was written.\n`)
  refused('file', `${path.join(directory, 'file')} is a file. Nothing was written.\n`)
  refused('file/shop', 'ENOTDIR')
  if (process.platform === 'linux') refused('/proc/shop', "no such file or directory, mkdir '/proc/shop'")
  t.strictSame(list(directory), ['file', 'shop/mine.txt'])
})

t.test('a name that npm would refuse is refused, and the message has a right one', async t => {
  const directory = t.testdir()
  const names = {
    'My Site': 'my-site',
    'Straßen & Plätze': 'stra-en-platze',
    _shop: 'shop',
    日本: 'my-site',
    sinfonietta: 'my-site',
    typescript: 'my-site',
    node_modules: 'node-modules',
    [`a${'b'.repeat(100)}`]: 'my-site',
  }
  for (const [name, right] of Object.entries(names)) {
    const { code, stderr } = run(directory, 'new', name)
    t.equal(code, 64, name)
    t.match(stderr, `The folder "${name}" gives the application its name`)
    t.match(stderr, `, such as "${right}".\n`)
  }
  t.strictSame(readdirSync(directory), [])
})

t.test('a wrong command line prints the usage', async t => {
  const directory = t.testdir()
  t.match(run(directory, '--help'), {
    code: 0,
    stderr: '',
    stdout: /^Usage: sinfonietta new <folder> \[--login /,
  })
  t.strictSame(run(directory, '-V'), { code: 0, stderr: '', stdout: `${version}\n` })
  for (const words of [[], ['new'], ['new', 'shop', 'office'], ['new', 'shop', '--yes']]) {
    t.match(run(directory, ...words), { code: 64, stdout: '', stderr: 'Usage: sinfonietta new <folder> [' })
  }
})

t.test('an unknown command is named, with the nearest or with the console', async t => {
  const directory = t.testdir()
  t.equal(run(directory, 'nwe', 'shop').stderr, 'There is no command "nwe"; the nearest is "new".\n')
  t.match(run(directory, 'serve').stderr, /: use new, .* An application is started by npm start in its folder/)
  t.equal(
    run(directory, 'profiler:show').stderr,
    'There is no command "profiler:show": use new, profile, view, mcp. Commands such as this are those of bin/console, in the folder of an application.\n',
  )
})

t.test('the application depends on the package that has created it', async t => {
  const directory = t.testdir()
  const installed = path.join(directory, 'cache/node_modules/sinfonietta')
  const folder = path.join(directory, 'sites/shop')
  mkdirSync(installed, { recursive: true })
  const find = (manifest: object | undefined) => {
    if (manifest) writeFileSync(path.join(directory, 'cache/package.json'), JSON.stringify(manifest))
    return findPackage(installed, folder)
  }
  t.equal(find(undefined), `^${version}`, 'a global installation')
  t.equal(find({}), `^${version}`)
  t.equal(find({ dependencies: { sinfonietta: '^0.1.0' } }), `^${version}`, 'a registry')
  t.equal(find({ dependencies: { sinfonietta: 'file:../my files/a.tgz' } }), 'file:../../my files/a.tgz', 'a tarball')
  t.equal(find({ devDependencies: { sinfonietta: 'file:/a.tgz' } }), `file:${path.relative(folder, '/a.tgz')}`)
  t.equal(find({ dependencies: { sinfonietta: 'https://a.test/b.tgz' } }), 'https://a.test/b.tgz', 'an address')
  t.equal(findPackage(path.join(directory, 'clone'), folder), 'file:../../clone', 'a clone')
  symlinkSync(path.join(directory, 'cache/node_modules'), path.join(directory, 'link'), 'junction')
  const linked = path.join(directory, 'link/sites/shop')
  t.equal(findPackage(path.join(directory, 'clone'), linked), 'file:../../../../clone', 'npm follows links')
})
