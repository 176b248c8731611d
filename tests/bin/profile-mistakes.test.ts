import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { serve } from 'sinfonietta/server'
import { t } from 'tap'
import { copyProgram } from '#tests/support/copy-program.ts'

t.test('sinfonietta profile names the nearest file, quotes around arguments, and the place of options', t => {
  const directory = t.testdir({ 'app.js': '' })
  const program = copyProgram(directory)
  const run = (...words: string[]) =>
    spawnSync(process.execPath, [program, 'profile', ...words], { cwd: directory, encoding: 'utf8' })
  t.match(run('ap.js'), { status: 1, stderr: /program "ap\.js" to profile: .*; the nearest is "app\.js"\.\n$/ })
  t.match(run('app.js --port 1'), { status: 1, stderr: /without quotes around them\.\n$/ })
  t.match(run('gone/app.js'), { status: 1, stderr: /program "gone\/app\.js" to profile: [^;]*\.\n$/ })
  t.match(run('--prt', '1', 'app.js'), {
    status: 9,
    stderr: /\nIf Node.js has refused an option: those of the program/,
  })
  t.notMatch(run('app.js').stderr, 'Options of the program')
  t.end()
})

t.test('the port of a program of its own is no option of serve()', async t => {
  const withPort = { bundles: [], port: 3000 }
  await t.rejects(serve(withPort), {
    code: 'ARGUMENT_INVALID',
    message: '--port and --host are options of the command line',
  })
  await t.rejects(Reflect.apply(serve, undefined, [{ bundles: [] }, 3000]), {
    code: 'ARGUMENT_INVALID',
    message: 'serve(): it takes one argument: the port is the option --port',
  })
})

t.test('a development server says where the application has ended the process', t => {
  const program = (when: string) => `import { serve } from 'sinfonietta/server'
const shop = {
  name: 'shop',
  register({ signals }) {
    ${when}
  },
}
await serve({ bundles: [shop] })
`
  const directory = t.testdir({
    'package.json': '{ "type": "module" }',
    node_modules: { sinfonietta: t.fixture('symlink', process.cwd()) },
    'early.js': program('process.exit(3)'),
    'late.js': program("signals.on('server.listening', () => process.exit(3))"),
    'async.js': program(`signals.on('server.draining', () => new Promise(() => {}))
    signals.on('server.listening', () => process.kill(process.pid, 'SIGTERM'))`),
    'right.js': program(
      "signals.on('server.draining', async () => 1); signals.on('server.listening', () => process.kill(process.pid, 'SIGTERM'))",
    ),
  })
  const run = (file: string) => {
    const env = { ...process.env, APP_ENV: 'dev', APP_SECRET: 'a secret of thirty-two characters' }
    return spawnSync(process.execPath, [path.join(directory, file), '--port=0'], { env, encoding: 'utf8' })
  }
  t.match(run('early.js'), { status: 3, stderr: 'process.exit() was called in early.js:5: throw an error instead' })
  t.match(run('late.js'), { status: 3, stderr: 'process.exit() was called in late.js:5: throw an error instead' })
  t.match(run('async.js'), { status: 0, stderr: 'A handler of the bundle "shop" for "server.draining" has not ended' })
  t.match(run('right.js'), { status: 0, stderr: /^(?![\s\S]*(?:process\.exit|has not ended))/ })
  t.end()
})
