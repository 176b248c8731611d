import { PassThrough } from 'node:stream'
import { type ConsoleCommand, exitCodes } from 'sinfonietta/console'
import { t } from 'tap'
import { runCommandOf } from '#bin/commands/console.ts'
import { createFakeStream } from '#tests/support/fake-terminal.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { until } from '#tests/support/until.ts'

t.test('a command is profiled with its arguments and its exit code, unless it is not wanted', async t => {
  const written: string[] = []
  const seed: ConsoleCommand = {
    name: 'shop:seed',
    description: 'Seeds',
    arguments: [{ name: 'how', description: 'how', isOptional: true }],
    options: [{ name: 'password', value: 'text', description: 'a secret' }],
    async run({ arguments: { how }, options }) {
      written.push(Object.keys(options).join())
      if (how === 'throw') throw new TypeError('no such shelf')
      return how === 'fail' ? exitCodes.failure : exitCodes.success
    },
  }
  const { app, storage } = await createProfiledKernel(t, { register: ({ commands }) => void commands.push(seed) })
  const saved: string[] = []
  app.signals.on('profile.saved', ({ token }) => void saved.push(token))
  const run = (line: string) => {
    const [stdout, stderr] = [createFakeStream(), createFakeStream()]
    const stdin = new PassThrough().end()
    const { signal } = new AbortController()
    return runCommandOf(app, line.split(' '), { stdin, stdout, stderr, env: {}, signal })
  }
  const ends = ['shop:seed', 'shop:seed --password hunter22 fail', 'shop:seed throw']
  const found: unknown[] = []
  for (const line of ends) {
    const code = await run(line)
    await until(() => saved.length > found.length)
    const { collectors, summary } = await waitForProfile(storage, String(saved.at(-1)))
    found.push([code, summary.route, summary.outcome, summary.exception, collectors.unit?.exitCode])
    t.notMatch(JSON.stringify(collectors.unit), /hunter22/)
  }
  t.strictSame(found, [
    [0, 'command shop:seed', 'complete', null, 0],
    [1, 'command shop:seed', 'failed', null, 1],
    [1, 'command shop:seed', 'failed', 'TypeError', undefined],
  ])
  await run('shop:seed --no-profile')
  t.equal(written.at(-1), '', 'the option is none of the command')
  await run('shop:seed')
  await until(() => saved.length > 3)
  t.equal(saved.length, 4)
})
