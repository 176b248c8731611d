import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import * as entry from 'sinfonietta'
import { createFrameworkBundle } from 'sinfonietta'
import { makerBundle } from 'sinfonietta/console'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { runInTerminal } from '#tests/support/fake-terminal.ts'

/** A project in which generators can write. */
function createProject(t: Test) {
  const directory = t.testdir()
  for (const source of ['.env', 'bundles/index.ts', 'bundles/framework/assets', 'bundles/site']) {
    cpSync(source, path.join(directory, source), { recursive: true })
  }
  const load = async () => {
    const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
    return [createFrameworkBundle(), siteBundle, makerBundle, profiler]
  }
  return {
    run: (line: string | readonly string[]) => runInTerminal(line, { load, directory }),
    read: (file: string) => readFileSync(path.join(directory, file), 'utf8'),
    write: (file: string, text: string) => writeFileSync(path.join(directory, file), text),
    has: (file: string) => existsSync(path.join(directory, file)),
    directory,
  }
}

t.test('make:bundle makes a bundle with its test, and lists it', async t => {
  const { read, run } = createProject(t)
  const { code, stderr, stdout } = await run('make:bundle photo-shop')
  t.equal(code, 0)
  t.strictSame(stdout.split('\n'), [
    'created  bundles/photo-shop/photo-shop-bundle.ts',
    'created  tests/bundles/photo-shop/photo-shop-bundle.test.ts',
    'changed  bundles/index.ts',
    '',
  ])
  t.equal(
    stderr,
    '\nbin/test tests/bundles/photo-shop/photo-shop-bundle.test.ts runs its test.\nbin/console make:page NAME --bundle photo-shop adds a page to it.\n',
  )
  t.match(
    read('bundles/photo-shop/photo-shop-bundle.ts'),
    "export const photoShopBundle: Bundle = {\n  name: 'photo-shop',",
  )
  const index = read('bundles/index.ts')
  t.match(index, "import { photoShopBundle } from './photo-shop/photo-shop-bundle.ts'\nimport { siteBundle }")
  t.match(index, '  return [createFrameworkBundle(), siteBundle, photoShopBundle]\n')
})

t.test('what is made for a bundle is registered there', async t => {
  const { read, run } = createProject(t)
  await run('make:bundle shop-bundle')
  const lines = [
    'make:listener greeting-listener kernel.view --bundle shop',
    'make:collector language --bundle shop-bundle',
    'make:page price-list --bundle shop',
  ]
  for (const line of lines) t.equal((await run(line)).code, 0, line)
  t.equal(
    read('bundles/shop/shop-bundle.ts'),
    `import type { Bundle } from 'sinfonietta'
import { GreetingListener } from './greeting-listener.ts'
import { languageCollector } from './language-collector.ts'
import { addPriceListPage } from './price-list-page.ts'

/** The bundle "shop": \`register\` creates its services, and passes them to its pages, listeners and collectors. */
export const shopBundle: Bundle = {
  name: 'shop',
  register(app) {
    new GreetingListener().subscribe(app.dispatcher)
    app.collectors.push(languageCollector)
    addPriceListPage(app)
  },
}
`,
  )
  t.match(read('bundles/shop/greeting-listener.ts'), "dispatcher.subscribe(ViewEvent, this, 'onView', priority)")
  t.match(read('tests/bundles/shop/greeting-listener.test.ts'), "createViewEvent('a result')")
  t.match(read('templates/shop/language-panel.hbs'), '{{data.language}}')
  t.match(read('templates/shop/price-list.hbs'), '<h1>{{title}}</h1>')
  t.match(read('templates/shop/price-list.hbs'), '<link rel="icon" href="data:,">')
  t.match(read('tests/bundles/shop/price-list-page.test.ts'), 'assert.match(response.text, /<h1>Price list</)')
})

t.test('the tests take the list of bundles whole', async t => {
  const { read, run } = createProject(t)
  for (const line of ['make:bundle books', 'make:page prices --bundle books', 'make:collector loans --bundle books']) {
    await run(line)
  }
  const tests = ['books-bundle', 'prices-page', 'loans-collector'].map(name =>
    read(`tests/bundles/books/${name}.test.ts`),
  )
  t.strictSame(
    tests.filter(
      text =>
        !/import \{ createBundles \} from '\.\.\/\.\.\/\.\.\/bundles\/index\.ts'[\s\S]+bundles: createBundles\(\)/.test(
          text,
        ),
    ),
    [],
  )
})

t.test('in an application with tap, the tests are those of tap', async t => {
  const { read, run, write } = createProject(t)
  write('package.json', '{"devDependencies":{"tap":"^21.8.0"}}')
  await run('make:bundle shop')
  await run('make:page books --bundle shop')
  const test = read('tests/bundles/shop/books-page.test.ts')
  t.match(test, "import { createProfiledTestKernel } from 'sinfonietta/profiler/testing'\nimport { test } from 'tap'\n")
  t.match(test, '\n  t.teardown(close)\n')
  const { stdout } = await run('make:page tables --bundle shop --dry-run')
  t.match(stdout, "import { test } from 'tap'")
})

t.test('a bundle that has something keeps it', async t => {
  const { read, run } = createProject(t)
  await run('make:page price-list --bundle site')
  const before = readFileSync('bundles/site/site-bundle.ts', 'utf8')
  const after = read('bundles/site/site-bundle.ts')
  const added = after.split('\n').filter(line => !before.split('\n').includes(line))
  t.strictSame(added, ["import { addPriceListPage } from './price-list-page.ts'", '    addPriceListPage(app)'])
})

t.test('there is a listener for each event of a request', async t => {
  const { read, run } = createProject(t)
  const { stdout } = await run(['__complete', 'make:listener', 'a', ''])
  const events = stdout.trim().split(/\s+/)
  t.equal(events.length, 8)
  for (const event of events) {
    const name = event.replaceAll(/[._]/g, '-')
    t.equal((await run(`make:listener ${name} ${event} --bundle site`)).code, 0)
    const [, type = ''] =
      /import \{.*?(\w+Event)\b.*? \} from 'sinfonietta'/.exec(read(`bundles/site/${name}-listener.ts`)) ?? []
    t.equal(Reflect.get(entry, type)?.eventName, event)
    t.notMatch(read(`tests/bundles/site/${name}-listener.test.ts`), /sample/i)
  }
  const wrong = await run('make:listener a kernel.start --bundle site')
  t.equal(wrong.code, 64)
  t.match(wrong.stderr, 'Allowed choices are kernel.request, kernel.controller,')
})

t.test('--dry-run shows the files without writing them', async t => {
  const { has, read, run } = createProject(t)
  const { stdout } = await run('make:page price-list --bundle site --dry-run')
  t.match(
    stdout,
    /^to be created {2}bundles\/site\/price-list-page\.ts\n[\s\S]+\nto be changed {2}bundles\/site\/site-bundle\.ts\n/,
  )
  t.match(stdout, '\n<title>{{title}}</title>\n')
  t.match(stdout, '\n+ addPriceListPage(app)\n')
  t.notOk(has('bundles/site/price-list-page.ts'))
  t.notMatch(read('bundles/site/site-bundle.ts'), 'PriceList')
  const { files, isDryRun, test, texts } = JSON.parse((await run('make:bundle shop --dry-run --json')).stdout)
  t.ok(isDryRun)
  t.strictSame(files.at(-1), { path: 'bundles/index.ts', action: 'changed' })
  t.match(texts[test], "includes('shop')")
  t.notOk(has('bundles/shop'))
})

t.test('names that are none are refused, and the message says what would be right', async t => {
  const { run } = createProject(t)
  const cases: [line: string, message: string][] = [
    ['make:bundle PhotoShop', '"PhotoShop" is no name: write it in lower case with hyphens, such as "photo-shop".'],
    ['make:bundle ../shop', '"../shop" is no name: write it in lower case with hyphens, such as "shop".'],
    ['make:bundle 3', '"3" is no name: write it in lower case with hyphens, such as "price-list".'],
    ['make:page price_list --bundle site', 'such as "price-list".'],
    [`make:bundle ${'a'.repeat(31)}`, 'is longer than 30 characters.'],
    ['make:page price-list', 'Which bundle is it for? Add --bundle, with one of framework, site.'],
    [
      'make:page price-list --bundle shop',
      'There is no bundle "shop", but framework, site; "bin/console make:bundle shop" makes it.',
    ],
    ['make:page price-list --bundle ../x', '"../x" is no name'],
    ['make:collector logger --bundle site', 'The profiler has a collector "logger" of its own: choose another name.'],
  ]
  for (const name of ['cpu', 'findings', 'late', 'request']) {
    cases.push([`make:collector ${name} --bundle site`, `a collector "${name}" of its own`])
  }
  for (const [line, message] of cases) {
    const { code, stderr, stdout } = await run(line)
    t.equal(code, 64, line)
    t.match(stderr, message)
    t.equal(stdout, '')
  }
  t.equal((await run(['__complete', 'make:page', 'a', '--bundle', 's'])).stdout, 'site\t\n')
})

t.test('nothing is overwritten', async t => {
  const { has, read, run, write } = createProject(t)
  const failed = async (line: string, message: string) => {
    const { code, stderr } = await run(line)
    t.equal(code, 1)
    t.equal(stderr, `${message} Nothing was written.\n`)
  }
  await failed('make:bundle site', 'There is a bundle "site" already.')
  await failed('make:bundle framework', 'There is a bundle "framework" already.')
  await failed('make:page partnership --bundle site', 'There is a route "partnership" for /partnership already.')
  write('bundles/site/price-list-page.ts', 'mine')
  await failed('make:page price-list --bundle site', 'bundles/site/price-list-page.ts is there already.')
  await run('make:listener greeting kernel.view --bundle site')
  await failed(
    'make:listener greeting kernel.request --bundle site',
    'bundles/site/greeting-listener.ts and tests/bundles/site/greeting-listener.test.ts are there already.',
  )
  t.equal(read('bundles/site/price-list-page.ts'), 'mine')
  t.notOk(has('templates'))
})

t.test('a file that cannot be written is reported', async t => {
  const { directory, run } = createProject(t)
  writeFileSync(path.join(directory, 'tests'), 'a file')
  const { code, stderr } = await run('make:bundle shop')
  t.equal(code, 1)
  t.match(stderr, /^tests\/bundles\/shop\/shop-bundle\.test\.ts cannot be written: (?:ENOTDIR|EEXIST)\.\n$/)
})

t.test('where a file looks different, it is said what to add', async t => {
  const { directory, read, run, write } = createProject(t)
  write('bundles/index.ts', '// all is different\n')
  const bundle = await run('make:bundle shop')
  t.equal(bundle.code, 0)
  t.match(
    bundle.stdout,
    "\nbundles/index.ts looks different from what is expected. Add to it:\n\nimport { shopBundle } from './shop/shop-bundle.ts'\n// in the list of bundles:\nshopBundle,\n",
  )
  t.equal(read('bundles/index.ts'), '// all is different\n')
  mkdirSync(path.join(directory, 'bundles/other'))
  const { byHand, files } = JSON.parse((await run('make:page price-list --bundle other --json')).stdout)
  t.strictSame(byHand, [
    {
      path: 'bundles/other/other-bundle.ts',
      lines: [
        "import { addPriceListPage } from './price-list-page.ts'",
        '// in register(app):',
        'addPriceListPage(app)',
      ],
    },
  ])
  t.equal(files.length, 3)
  t.match(
    (await run('make:page others --bundle other --dry-run')).stdout,
    'bundles/other/other-bundle.ts looks different',
  )
})

t.test('the names of the profiler are known', async t => {
  const { app, client, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), createProfilerBundle({ storage: new MemoryProfileStorage() })],
  })
  t.teardown(close)
  const { headers } = await client.get('/', { headers: { accept: 'text/plain' } })
  const { data, process } = (await client.get(`/_profiler/${headers.get('x-debug-token')}.json`)).json() as {
    data: object
    process: object
  }
  t.ok(app)
  const { run } = createProject(t)
  for (const name of [...Object.keys(data), ...Object.keys(process), 'session', 'redirects', 'http']) {
    t.equal((await run(`make:collector ${name} --bundle site`)).code, 64, name)
  }
})

t.test('a name has its forms', async t => {
  const { read, run } = createProject(t)
  for (const kind of ['page', 'collector']) t.equal((await run(`make:${kind} shop-2-go --bundle site`)).code, 0)
  const written = ['page', 'collector'].map(kind => read(`bundles/site/shop-2-go-${kind}.ts`)).join()
  for (const form of ['shop-2-go', 'shop2Go', 'Shop2Go', 'shop_2_go', 'Shop 2 go']) t.match(written, form)
  t.equal((await run('make:page page --bundle site')).code, 0)
  t.match(read('bundles/site/page-page.ts'), "'/page'")
})
