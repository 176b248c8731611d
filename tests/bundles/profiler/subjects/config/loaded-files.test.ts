import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { t } from 'tap'
import { selectLoaded } from '#bundles/profiler/subjects/config/loaded-files.ts'

t.test('of edited files, those count that this process has loaded, or reads again', async t => {
  const files = { 'index.js': '', 'other.js': '', 'index.test.js': '' }
  const directory = t.testdir({
    ...{
      'app.mjs': '',
      'old.cjs': '',
      'unused.mjs': '',
      shop: files,
      tests: { 'app.mjs': '' },
      node_modules: { ...files },
    },
    src: { 'page.ts': '', 'unused.ts': '' },
    dist: { 'page.js': '//# sourceMappingURL=page.js.map', 'unused.js': '' },
  })
  const load = (name: string) => import(String(pathToFileURL(path.join(directory, name))))
  await Promise.all(['app.mjs', 'shop/index.js', 'dist/page.js', 'node_modules/other.js'].map(load))
  createRequire(path.join(directory, 'app.mjs'))('./old.cjs')
  const of = (...files: string[]) => [...selectLoaded(files, directory)]
  const loaded = ['app.mjs', 'old.cjs', 'shop/index.js', 'src/page.ts', 'dist/page.js', path.join('shop', 'index.js')]
  t.strictSame(of(...loaded), [...new Set(loaded)])
  const others = ['unused.mjs', 'tests/app.mjs', 'shop/other.js', 'shop/index.test.js', 'src/unused.ts', 'index.js']
  t.strictSame(of(...others, 'removed.ts', 'other.js', 'page.ts'), [], 'not loaded')
  const read = ['.env', 'templates/shop/page.hbs', 'public/shop.css', 'package.json']
  t.strictSame(of('README.md', 'bundles/shop/README.md', ...read), read, 'no documents')
})

t.test('of a bundle it is not known which sources it has, but no tests', async t => {
  const directory = t.testdir({
    ...{ 'app.ts': '', 'app.test.ts': '', test: { 'app.ts': '' } },
    dist: { 'server.mjs': '//# sourceMappingURL=server.mjs.map' },
  })
  const select = () => [...selectLoaded(['app.ts', 'app.test.ts', 'test/app.ts'], directory)]
  t.strictSame(select(), [])
  await import(String(pathToFileURL(path.join(directory, 'dist/server.mjs'))))
  t.strictSame(select(), ['app.ts'])
})
