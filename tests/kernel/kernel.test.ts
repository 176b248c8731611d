import { type Test, t } from 'tap'
import type { Bundle } from '../../kernel/bundle.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'

declare module '../../lib/signals.ts' {
  interface SignalMap {
    'test.kernel': undefined
  }
}

function boot(t: Test, bundles: readonly Bundle[], templates: Record<string, string> = {}) {
  return createTestKernel({ bundles, directory: t.testdir({ templates }) })
}

t.test('bundles are registered in order, each when the one before it is ready, and closed in reverse', async t => {
  const told: string[] = []
  const bundle = (name: string): Bundle => ({
    name,
    async register() {
      told.push(`register ${name}`)
      await new Promise(setImmediate)
      told.push(`${name} is ready`)
    },
    async close() {
      told.push(`close ${name}`)
    },
  })
  const { close } = await boot(t, [bundle('a'), bundle('b'), { name: 'c', register() {} }])
  await close()
  t.strictSame(told, ['register a', 'a is ready', 'register b', 'b is ready', 'close b', 'close a'])
})

t.test('a bundle that cannot be closed does not keep the others open', async t => {
  const told: string[] = []
  const failing = (name: string): Bundle => ({
    name,
    register() {},
    close() {
      told.push(name)
      throw new Error(`${name} is stuck`)
    },
  })
  const { close } = await boot(t, [failing('a'), failing('b')])
  await t.rejects(close(), { message: 'b is stuck' })
  t.strictSame(told, ['b', 'a'])
})

t.test('a bundle that is listed twice is named', async t => {
  const bundle: Bundle = { name: 'twin', register() {} }
  await t.rejects(boot(t, [bundle, bundle]), { code: 'KERNEL_BUNDLE_REPEATED', message: /"twin"/ })
})

t.test('a mistake in a template is found when the kernel boots', async t => {
  await t.rejects(boot(t, [], { 'page.hbs': '{{> nowhere}}' }), { code: 'VIEW_TEMPLATE_INVALID' })
})

t.test('a signal handler that throws is logged', async t => {
  const { app, records } = await boot(t, [])
  app.signals.on('test.kernel', () => {
    throw new Error('deaf')
  })
  app.signals.emit('test.kernel', undefined)
  t.match(records, [
    { level: 'error', message: 'A signal handler failed.', context: { exception: { message: 'deaf' } } },
  ])
})

t.test('debug is for the environment dev alone', async t => {
  const isDebug = async (variables: Record<string, string>) => {
    const directory = t.testdir({ templates: {} })
    return (await createTestKernel({ bundles: [], directory, variables })).app.debugGate.isDebug
  }
  t.ok(await isDebug({}))
  t.notOk(await isDebug({ APP_DEBUG: '0' }))
  t.notOk(await isDebug({ NODE_ENV: 'production' }))
  t.notOk(await isDebug({ APP_ENV: 'test' }))
  t.notOk(await isDebug({ APP_ENV: 'prod', APP_DEBUG: '1' }))
})
