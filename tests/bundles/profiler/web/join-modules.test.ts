import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { joinModules } from '#bundles/profiler/web/assets.ts'

t.test('a module is joined with its imports: each of them runs once, before the modules that import it', async t => {
  const folder = t.testdir({
    'entry.js':
      "import { first } from './first.js';\nimport { Second } from './second.js';\nresult = [first(), new Second().name];\n",
    'first.js':
      "import { load, text } from './shared.js';\nconst own = load;\nexport function first() {\n  return text + own.length;\n}\n",
    'second.js':
      "import { text } from './shared.js';\nconst own = 2;\nexport class Second {\n  name = text + own;\n}\n",
    'shared.js': "export const text = 'shared';\nruns.push(text);\nexport async function load() { }\nexport {};\n",
  })
  const runs: string[] = []
  const result = new Function('runs', `let result;\n${joinModules(folder, 'entry.js')}return result;`)(runs)
  t.strictSame(result, ['shared0', 'shared2'])
  t.strictSame(runs, ['shared'])
})

t.test('a module without imports stays as it is', async t => {
  const folder = t.testdir({ 'alone.js': '{\n  const local = 1;\n}\n' })
  t.equal(joinModules(folder, 'alone.js'), '{\n  const local = 1;\n}\n')
})

t.test('no text in the code of browsers has several lines, because indentation is removed', async t => {
  const folder = path.resolve('dist/bundles/profiler/client')
  const modules = readdirSync(folder).filter(name => name.endsWith('.js'))
  t.ok(modules.length > 10)
  const lines = modules.flatMap(name => readFileSync(path.join(folder, name), 'utf8').split('\n'))
  t.strictSame(
    lines.filter(line => line.split('`').length % 2 === 0),
    [],
  )
})

t.test('other imports and exports are refused', async t => {
  const folder = t.testdir({
    'a.js': "import './b.js';\n",
    'b.js': 'export default 1;\n',
    'c.js': "import * as a from './a.js';\n",
    'd.js': "import { b as a } from './a.js';\n",
  })
  for (const [name, line] of [
    ['a.js', "import './b.js';"],
    ['b.js', 'export default 1;'],
    ['c.js', "import * as a from './a.js';"],
    ['d.js', "import { b as a } from './a.js';"],
  ] as const) {
    t.throws(() => joinModules(folder, name), {
      message: `The module ${name} cannot be joined: "${line}" has an unknown form.`,
    })
  }
})
