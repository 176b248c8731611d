import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { runsTypeScript } from '#bin/application/sources.ts'
import { createSmallApplication } from '#tests/support/create-small-application.ts'
import { executeConsole } from '#tests/support/execute-console.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

t.test('listeners are listed with their places in the sources', async t => {
  const { ended, printed } = await executeConsole(t, 'debug:events kernel.exception')
  await ended
  t.match(printed.stdout, /bundles\/framework\/listeners\/error-listener\.ts:\d+/)
})

t.test('the console of an application: a signal that a command ignores, and sources that do not compile', async t => {
  const directory = t.testdir()
  createSmallApplication(directory)
  const bundle = path.join(directory, 'bundles/home/home-bundle.ts')
  const waiting = `app.commands.push({
      name: 'demo:wait',
      description: 'Waits',
      run() {
        process.stdout.write('begun')
        return new Promise(() => setInterval(() => undefined, 1_000))
      },
    })`
  writeFileSync(bundle, readFileSync(bundle, 'utf8').replace('register(app: Application) {', `$&\n    ${waiting}`))
  const { child, ended, printed } = await executeConsole(t, 'demo:wait', { directory })
  await until(() => printed.stdout.includes('begun') || child.exitCode !== null)
  child.kill('SIGINT')
  t.strictSame(await ended, [130, null])

  if (runsTypeScript) return
  writeFileSync(bundle, `${readFileSync(bundle, 'utf8')}export const wrong: number = ''\n`)
  const refused = await executeConsole(t, 'demo:wait', { directory })
  t.strictSame(await refused.ended, [1, null])
  t.match(refused.printed.stderr, /TS2322[\s\S]*\nThe command was not run: the sources do not compile\.\n$/)
  const read = await executeConsole(t, 'profiler:list --json', { directory })
  t.strictSame(await read.ended, [0, null])
  t.match(read.printed.stderr, /TS2322[\s\S]*\nThe sources do not compile: the command runs from the last build\.\n$/)
})

t.test('completion works in bash', async t => {
  const script = `source <(bin/console completion bash)
COMP_LINE='bin/console debug:route'; COMP_POINT=\${#COMP_LINE}; _sinfonietta_console; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await runProcess(t, ['bash', '-c', script])
  t.equal(stdout, 'route-match\nroutes\n')
})
