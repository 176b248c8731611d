import { mkdirSync, writeFileSync } from 'node:fs'
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { asInteger, type Bundle, HttpError, type Logger } from 'sinfonietta'
import { createRequest, createTestKernel, silentLogger } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import type { Collector } from '#kernel/contracts/collectors.ts'
import { toController } from '#kernel/controller.ts'
import { Kernel } from '#kernel/kernel.ts'
import { readConfig } from '#lib/env/config.ts'
import { defineSettings, Settings } from '#lib/env/settings.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { muteWarnings } from '#tests/support/mute-warnings.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

declare module '../../lib/signals.ts' {
  interface SignalMap {
    'test.kernel': undefined
  }
}

/** Boots with a logger of the test. */
function bootLogged(directory: string, bundles: readonly Bundle[], logger: Logger): Promise<Kernel> {
  const settings = new Settings({ variables: { APP_ENV: 'dev', APP_SECRET: 'a secret for tests that is long enough' } })
  return Kernel.boot({ settings, config: readConfig(settings), directory, bundles, logger, redactor: new Redactor({}) })
}

function boot(t: Test, bundles: readonly Bundle[], templates: Record<string, string> = {}) {
  return createTestKernel({ bundles, directory: t.testdir({ templates }) })
}

t.test('bundles are registered in order, each when the one before it is ready, and closed in reverse', async t => {
  const calls: string[] = []
  const bundle = (name: string): Bundle => ({
    name,
    async register() {
      calls.push(`register ${name}`)
      await new Promise(setImmediate)
      calls.push(`${name} is ready`)
    },
    async close() {
      calls.push(`close ${name}`)
    },
  })
  const { close } = await boot(t, [bundle('a'), bundle('b'), { name: 'c', register() {} }])
  await close()
  t.strictSame(calls, ['register a', 'a is ready', 'register b', 'b is ready', 'close b', 'close a'])
})

t.test('a closed kernel has no current request, also for code that still runs', async t => {
  const { app, close } = await boot(t, [])
  app.context.enable()
  const request = createRequest()
  let goOn = () => {}
  const waiting = new Promise<void>(resolve => {
    goOn = resolve
  })
  const seen = app.context.run(request, async () => {
    const before = app.context.current
    await waiting
    return [before === request, app.context.current]
  })
  await close()
  goOn()
  t.strictSame(await seen, [true, undefined])
})

t.test('a bundle that is still in register() or close() after ten seconds is logged', async t => {
  muteWarnings(t, 'ExperimentalWarning')
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const work = (milliseconds: number) => async () => {
    await nextTurn()
    mock.timers.tick(milliseconds)
  }
  const bundle = (name: string, time: number): Bundle => ({ name, register: work(time), close: work(time) })
  const { close, records } = await boot(t, [bundle('quick', 9_999), bundle('mails', 10_000)])
  await close()
  t.strictSame(
    records.map(({ level, message }) => [level, message]),
    ['register', 'close'].map(step => ['warning', `The bundle "mails" is still in ${step}() after 10 seconds.`]),
  )
})

t.test('a refused route is named, also when the place of its declaration is not known', async t => {
  const bundle: Bundle = {
    name: 'shop',
    register({ routes }) {
      const limit = Error.stackTraceLimit
      Error.stackTraceLimit = 0
      routes.add({ name: 'cart', path: '/cart', controller: 'nowhere' as never })
      Error.stackTraceLimit = limit
    },
  }
  await t.rejects(boot(t, [bundle]), { message: /^The route "cart" cannot be used: [^(]*"nowhere"[^(]*\.$/ })
  await t.rejects(boot(t, [bundle]), { message: /^(?!.*undefined)/ })
})

t.test('after a failed start, each bundle that has begun a step is closed once, in reverse order', async t => {
  const calls: string[] = []
  const bundle = (name: string, init: Partial<Bundle> = {}): Bundle => ({
    name,
    register() {},
    close() {
      calls.push(name)
      throw new Error(`${name} is stuck`)
    },
    ...init,
  })
  const decorating = bundle('decorating', { decorate: foundation => foundation })
  const fail = () => {
    throw new Error('It is down.')
  }
  const collector = { name: 'stock', collect: () => undefined }
  const starts: [message: RegExp, closed: string[], bundles: Bundle[], templates?: Record<string, string>][] = [
    [/"b" failed in decorate/, ['b', 'decorating'], [decorating, bundle('a'), bundle('b', { decorate: fail })]],
    [/"b" failed in decorate/, ['b'], [bundle('a'), bundle('b', { decorate: () => ({}) as never }), decorating]],
    [/"b" failed in register/, ['decorating', 'b', 'a'], [bundle('a'), bundle('b', { register: fail }), decorating]],
    [/"b" failed in register/, ['b', 'a'], [bundle('a'), bundle('b', { register: async () => fail() }), bundle('c')]],
    [
      /it needs the key "name"/,
      ['b', 'a'],
      [bundle('a'), bundle('b', { register: app => void app.collectors.push({} as never) })],
    ],
    [
      /"c" has a collector/,
      ['c', 'b', 'a'],
      [
        bundle('a'),
        ...['b', 'c'].map(name => bundle(name, { register: app => void app.collectors.push({ ...collector }) })),
      ],
    ],
    [
      /The route "r"/,
      ['b', 'a'],
      [
        bundle('a'),
        bundle('b', {
          register: ({ routes }) => void routes.add({ name: 'r', path: '/', controller: 'none' as never }),
        }),
      ],
    ],
    [
      /"a" failed in register/,
      ['a'],
      [bundle('a', { decorate: foundation => foundation, register: fail }), bundle('b')],
    ],
    [/\{\{#if\}\}|page/, ['b', 'a'], [bundle('a'), bundle('b')], { 'page.hbs': '{{#if}}' }],
  ]
  for (const [message, closed, bundles, templates] of starts) {
    calls.length = 0
    const { logger, records } = createRecorder()
    await t.rejects(bootLogged(t.testdir({ templates: templates ?? {} }), bundles, logger), { message })
    t.strictSame(calls, closed, `${message}`)
    const logged = records.map(({ context }) => JSON.stringify(context.exception))
    t.match(
      logged,
      closed.map(name => `failed in close(): Error: ${name} is stuck`),
      'each failure is logged',
    )
  }
})

t.test('a bundle that cannot be closed does not keep the others open', async t => {
  const calls: string[] = []
  const failing = (name: string): Bundle => ({
    name,
    register() {},
    close() {
      calls.push(name)
      throw new Error(`${name} is stuck`)
    },
  })
  const { close } = await boot(t, [failing('a'), failing('b')])
  await t.rejects(close(), {
    code: 'KERNEL_BUNDLE_FAILED',
    message: 'The bundle "b" failed in close(): Error: b is stuck',
    cause: { message: 'b is stuck' },
  })
  await close()
  t.strictSame(calls, ['b', 'a'])
})

t.test('a value in the list that is not a bundle is named', async t => {
  const good: Bundle = { name: 'good', register() {} }
  const createShop = (): Bundle => ({ name: 'shop', register() {} })
  const expected = 'A bundle is an object with a name and the method register().'
  for (const [value, found] of [
    [createShop, `the function createShop. ${expected} Call the function: createShop().`],
    [undefined, `undefined. ${expected}`],
    [{ name: 'shop' }, `an object with the key "name". ${expected}`],
    [Promise.resolve([good]), `a promise. ${expected} Write await before the call that gives the promise.`],
  ] as const) {
    // The list of an application may be JavaScript, or TypeScript that was not checked.
    await t.rejects(boot(t, [good, value as unknown as Bundle]), {
      code: 'KERNEL_BUNDLE_INVALID',
      message: `The list of bundles is wrong: number 2 is ${found}`,
    })
  }
})

t.test('two bundles of one name are named, with their numbers in the list', async t => {
  const bundle: Bundle = { name: 'twin', register() {} }
  const message = /^The numbers 2 and 3 in the list of bundles are both named "twin": /
  await t.rejects(boot(t, [{ ...bundle, name: 'first' }, bundle, bundle]), { code: 'KERNEL_BUNDLE_REPEATED', message })
})

t.test('a bundle that fails while the kernel boots is named, and the cause is kept', async t => {
  const cause = new TypeError('no database')
  const register = async () => {
    throw cause
  }
  await t.rejects(boot(t, [{ name: 'shop', register }]), {
    code: 'KERNEL_BUNDLE_FAILED',
    message: 'The bundle "shop" failed in register(): TypeError: no database',
    cause,
  })
  const decorate = () => {
    throw new HttpError(500, 'The configuration has mistakes:\n  it')
  }
  await t.rejects(boot(t, [{ name: 'shop', decorate, register() {} }]), {
    message: 'The bundle "shop" failed in decorate(): The configuration has mistakes:\n  it',
  })
})

t.test('an error names the framework bundle if a controller to decorate is missing, or registered later', async t => {
  const needy: Bundle = {
    name: 'needy',
    register: ({ controllers }) => controllers.decorate('error_controller', inner => inner),
  }
  const message =
    'The bundle "needy" failed in register(): The controller "error_controller" is neither a function, nor made by ' +
    'defineController(), nor the name of a registered controller; the framework bundle registers it: it has to be in the list of ' +
    'bundles, before those that build on it (tests/kernel/kernel.test.ts:'
  const later: Bundle = {
    name: 'later',
    register: ({ controllers }) =>
      controllers.register(
        'error_controller',
        toController(() => new Response()),
      ),
  }
  await t.rejects(createTestKernel({ bundles: [needy] }), { message })
  await t.rejects(createTestKernel({ bundles: [needy, later] }), { message })
})

t.test('a folder of assets that is missing is named, with its bundle', async t => {
  const register: Bundle['register'] = ({ directory, files }) => files.add('shop', `${directory}/nowhere`)
  await t.rejects(boot(t, [{ name: 'shop', register }]), {
    message:
      /^The bundle "shop" failed in register\(\): The static files of the bundle "shop" .*nowhere .*\(ENOENT\)\.$/,
    cause: { code: 'HTTP_ASSETS_UNREADABLE', cause: { code: 'ENOENT' } },
  })
})

t.test('templates and assets of a bundle: in its own folders, or in those of the application', async t => {
  const directory = t.testdir({
    shop: { templates: { 'price.hbs': 'price', 'tax.hbs': 'tax' }, assets: { 'shop.css': 'a{}' } },
    tools: { 'tool.hbs': 'tool' },
    application: {
      templates: { shop: { 'tax.hbs': 'my tax' }, home: { 'page.hbs': 'home' }, idle: { 'page.hbs': '{{#if' } },
      bundles: { home: { assets: { 'home.css': 'b{}' } }, tools: { assets: { 'secret.css': '' } } },
      public: { 'robots.txt': 'User-agent: *' },
    },
  })
  const register = () => {}
  const { app, close } = await createTestKernel({
    bundles: [
      { name: 'shop', templates: `${directory}/shop/templates`, assets: `${directory}/shop/assets`, register },
      { name: 'home', register },
      { name: 'bare', register },
      // It names a folder for its templates, and none for assets.
      { name: 'tools', templates: `${directory}/tools`, register },
    ],
    directory: `${directory}/application`,
  })
  const names = ['shop/price', 'shop/tax', 'home/page', 'tools/tool']
  t.strictSame(
    names.map(name => app.view.render(name, {})),
    ['price', 'my tax', 'home', 'tool'],
  )
  const urls = ['shop/shop.css', 'home/home.css', 'tools/secret.css'].map(name => app.files.url(name))
  t.match(urls, [/^\/assets\/[0-9a-f]{8}\/shop\/shop\.css$/, /home\.css$/, undefined])
  t.equal(app.files.find('/robots.txt')?.file, `${directory}/application/public/robots.txt`)
  await close()
  const assets = `${directory}/nowhere`
  await t.rejects(boot(t, [{ name: 'shop', assets, register }]), {
    code: 'HTTP_ASSETS_UNREADABLE',
    message: /"shop".*nowhere/,
  })
})

t.test('bundles read their settings, and a kernel with wrong settings does not boot', async t => {
  const librarySettings = defineSettings({
    LIBRARY_PAGE_SIZE: { help: 'books on a page', schema: asInteger, default: 20 },
    LIBRARY_LICENCE: { help: 'the licence', default: undefined, secret: true },
  })
  const sizes: number[] = []
  const library: Bundle = {
    name: 'library',
    settings: librarySettings,
    decorate(foundation) {
      sizes.push(foundation.settings.of(librarySettings).LIBRARY_PAGE_SIZE)
      return foundation
    },
    register({ settings }) {
      sizes.push(settings.of(librarySettings).LIBRARY_PAGE_SIZE)
    },
  }
  const variables = { LIBRARY_PAGE_SIZE: '3', LIBRARY_LICENCE: 'Xk7-Canary-9' }
  const { app, close, records } = await createTestKernel({ bundles: [library], variables, directory: t.testdir({}) })
  t.strictSame(sizes, [3, 3])
  app.logger.info('The licence is Xk7-Canary-9.', { LIBRARY_LICENCE: 'other', size: 3 })
  t.match(records, [{ message: 'The licence is ******.', context: { LIBRARY_LICENCE: '******', size: 3 } }])
  t.match(app.redactor.environment(), { LIBRARY_PAGE_SIZE: '3', LIBRARY_LICENCE: '******' })
  await close()

  const wrong = { LOG_LEVEL: 'loud', LIBRARY_PAGE_SIZE: 'ten' }
  await t.rejects(createTestKernel({ bundles: [library], variables: wrong }), {
    code: 'CONFIG_INVALID',
    message: /^ {2}LOG_LEVEL "loud" .*\n {2}LIBRARY_PAGE_SIZE "ten" is not an integer of 32 bits\.$/m,
  })
  await t.rejects(createTestKernel({ bundles: [library, { ...library, name: 'shop' }] }), {
    code: 'CONFIG_SETTING_TAKEN',
    message: /"LIBRARY_PAGE_SIZE" is declared by the bundle "library" and by the bundle "shop"/,
  })
  await t.rejects(createTestKernel({ bundles: [{ ...library, settings: undefined }] as unknown as Bundle[] }), {
    message: /The bundle "library" failed in decorate\(\): No bundle of this application has declared the settings /,
  })
})

t.test('a folder for assets that appears later is read with a reload', async t => {
  const directory = t.testdir({})
  const kernel = await bootLogged(directory, [{ name: 'home', register() {} }], silentLogger)
  t.equal(kernel.app.files.url('home/home.css'), undefined)
  mkdirSync(`${directory}/bundles/home/assets`, { recursive: true })
  writeFileSync(`${directory}/bundles/home/assets/home.css`, '')
  kernel.reload()
  t.match(kernel.app.files.url('home/home.css'), /home\.css$/)
  await kernel.close()
})

t.test('a collector with the name of another is refused, in any order', async t => {
  const add = (name: string, collector: string): Bundle => ({
    name,
    register: ({ collectors }) => void collectors.push({ name: collector, collect: () => 1 }),
  })
  await t.rejects(boot(t, [add('one', 'stock'), add('two', 'stock')]), {
    code: 'KERNEL_COLLECTOR_TAKEN',
    message:
      'The bundle "two" has a collector "stock", but the bundle "one" has one of that name: give it another name.',
  })
  const { close } = await boot(t, [add('one', 'stock'), add('two', 'prices')])
  await close()
})

t.test('what a bundle adds in decorate() is checked, and is its own', async t => {
  const decorating = (collector: object): Bundle => ({
    name: 'two',
    decorate(foundation) {
      foundation.collectors.push(collector as Collector)
      return foundation
    },
    register() {},
  })
  const others: Bundle[] = ['one', 'three'].map(name => ({
    name,
    register: ({ collectors }) => void collectors.push({ name: name === 'one' ? 'prices' : 'stock', collect: () => 1 }),
  }))
  await t.rejects(boot(t, [...others, decorating({ name: 'stock', collect: () => 1 })]), {
    code: 'KERNEL_COLLECTOR_TAKEN',
    message:
      'The bundle "three" has a collector "stock", but the bundle "two" has one of that name: give it another name.',
  })
  await t.rejects(boot(t, [decorating({ name: 'stock' })]), {
    message: /^The bundle "two" failed in decorate\(\): The collector "stock" .*it needs the key "collect"/,
  })
})

t.test('URLs begin with APP_URL, and an alias of a route is logged once in development', async t => {
  const paged: Bundle = {
    name: 'paged',
    register: ({ routes }) =>
      void routes.add({ name: 'page', path: '/page', controller: toController(() => 1), aliases: ['leaf'] }),
  }
  const logged = async (variables: Record<string, string>) => {
    const directory = t.testdir({})
    const { app, close, records } = await createTestKernel({ bundles: [paged], directory, variables })
    for (let turn = 0; turn < 2; turn++)
      t.equal(app.urls.generate('leaf', {}, { absolute: true }), 'https://a.test/page')
    await close()
    return records.map(({ level, message }) => [level, message])
  }
  const APP_URL = 'https://a.test'
  t.strictSame(await logged({ APP_URL }), [['warning', 'The route name "leaf" is an alias: use "page".']])
  t.strictSame(await logged({ APP_URL, APP_ENV: 'prod' }), [])
})

t.test('a mistake in a template is found when the kernel boots', async t => {
  await t.rejects(boot(t, [], { 'page.hbs': '{{> nowhere}}' }), { code: 'VIEW_TEMPLATE_INVALID' })
})

t.test('a signal handler that throws is logged, with the signal and its bundle', async t => {
  const fail = () => {
    throw new Error('deaf')
  }
  const createBundle = (name: string): Bundle => ({
    name,
    register: ({ signals }) => void signals.on('test.kernel', fail),
  })
  const { app, records } = await boot(t, ['mails', 'news'].map(createBundle))
  app.signals.on('test.kernel', async () => fail())
  app.signals.emit('test.kernel', undefined)
  await nextTurn()
  const logged = records.map(({ context, level, message }) => [level, message, context.exception])
  t.match(logged, [
    ['error', 'The handler of "test.kernel" (bundle "mails") failed.', { message: 'deaf' }],
    ['error', 'The handler of "test.kernel" (bundle "news") failed.', { message: 'deaf' }],
    ['error', 'The handler of "test.kernel" failed.', { message: 'deaf' }],
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
