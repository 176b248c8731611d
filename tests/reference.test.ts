import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createFrameworkBundle, createPageCache, type SignalMap, ViewEvent } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { createProfilerBundle } from 'sinfonietta/profiler'
import * as factories from 'sinfonietta/testing'
import { createTestKernel, RecordingDispatcher, type TestKernelOptions } from 'sinfonietta/testing'
import { t } from 'tap'
import { help, parseOptions } from '#bin/serving/serve-options.ts'
import { createHiddenRouteRule } from '#bundles/framework/hidden-route-rule.ts'
import { optionalListeners, resolveOptions } from '#bundles/framework/options.ts'
import { crossOriginRule, defaultHeaders } from '#bundles/framework/protection.ts'
import { searchParameters } from '#bundles/profiler/insight/list-request.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { profilerRules } from '#bundles/profiler/subjects/rules.ts'
import type { Setting } from '#lib/env/settings.ts'
import { Response } from '#lib/http/response.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { readSettings } from './support/declared-settings.ts'
import { runDocumented } from './support/documented-console.ts'
import { createHandlerBundle } from './support/handler-bundle.ts'
import { lifecycle } from './support/lifecycle.ts'
import { readRows, readSections } from './support/markdown.ts'
import { parseConfig } from './support/parse-config.ts'
import { command, findOutdated } from './support/references.ts'

const events = readSections('docs/reference/events.md')
const configuration = readSections('docs/reference/configuration.md')
const symfony = readSections('docs/guides/from-symfony.md')
const textOf = (sections: ReadonlyMap<string, string>, title: string) => sections.get(title) ?? ''

t.test('what is written from the code is up to date', async t => {
  const outdated = await findOutdated()
  t.strictSame(
    outdated.map(({ file }) => file),
    [],
    `"${command}" writes it`,
  )
})

t.test('each rule has an entry in findings.md, and no sentence of it repeats a limit of the table', async t => {
  const text = readFileSync('docs/reference/findings.md', 'utf8')
  const rules = [...profilerRules, createHiddenRouteRule(new RouteCollection()), crossOriginRule]
  t.strictSame(
    Array.from(text.matchAll(/^### `([a-z-]+)`\n\n\*([^*]+)\*/gm), ([, name, title]) => `${name}: ${title}`).toSorted(),
    rules.map(({ name, title }) => `${name}: ${title}`).toSorted(),
  )
  const prose = [
    text.replace(/<!-- begin: limits[\s\S]*?<!-- end -->/, ''),
    readFileSync('docs/guides/database.md', 'utf8'),
  ]
  const numbers =
    /(?<![+\d])(?:\d[\d,]*|three|five|ten|fifty) (?:ms|bytes|kB|rows|messages|renders|queries|calls|times|keys)\b/g
  t.strictSame(
    prose.map(each => each.replaceAll(/^```[\s\S]*?^```$/gm, '').match(numbers)),
    [null, null],
  )
})

t.test('each parameter of a search is in profile.md', async t => {
  const cells = readRows(textOf(readSections('docs/reference/profile.md'), 'The list')).map(([name]) => name)
  t.strictSame(cells.join(' ').match(/\w+/g)?.toSorted(), searchParameters.toSorted())
})

t.test('each part of a profile is in profile.md', async t => {
  const { $defs } = JSON.parse(readFileSync('docs/reference/profile.schema.json', 'utf8')) as { $defs: object }
  const parts = Object.keys($defs).filter(name => /^(?:data|process)\./.test(name))
  const listed = readRows(textOf(readSections('docs/reference/profile.md'), 'A profile')).map(([name]) => name)
  t.ok(parts.length > 15, 'parts are found')
  t.strictSame(
    parts.filter(name => !listed.includes(name)),
    [],
  )
})

t.test('the reference lists the listeners of a running kernel in their order', async t => {
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const site = { APP_ENV: 'prod', APP_HOSTS: 'example.org' }
  /** The conditions in the words of the reference that hold for each kernel. */
  const kernels: readonly (TestKernelOptions & { readonly there: readonly string[] })[] = [
    { there: ['always', 'debug', 'profiler'], bundles: [createFrameworkBundle(), profiler] },
    { there: ['always', 'debug'], bundles: [createFrameworkBundle()] },
    { there: ['always'], bundles: [createFrameworkBundle()], variables: { APP_ENV: 'prod' } },
    { there: ['always', 'production with `APP_HOSTS`'], bundles: [createFrameworkBundle()], variables: site },
  ]
  for (const { there, ...options } of kernels) {
    const { app, close } = await createTestKernel(options)
    t.teardown(close)
    for (const type of lifecycle) {
      const documented = readRows(textOf(events, type.eventName)).filter(([, , when = '']) => there.includes(when))
      const actual = app.dispatcher.listeners(type).map(({ name, priority }) => [String(priority), name])
      const expected = documented.map(([priority, name]) => [priority, name])
      t.strictSame(actual, expected, `${type.eventName}: ${there.join(', ')}`)
    }
  }
})

t.test('the reference names the class of each event, and properties that exist', async t => {
  const response = new Response()
  const examples = [
    factories.createRequestEvent(),
    factories.createControllerEvent(() => response),
    factories.createControllerArgumentsEvent(() => response, []),
    factories.createViewEvent({}),
    factories.createExceptionEvent(new Error('broken')),
    factories.createResponseEvent({ response }),
    factories.createFinishRequestEvent(),
    factories.createTerminateEvent({ response }),
  ]
  t.strictSame([...events.keys()].filter(title => title.startsWith('kernel.')).length, examples.length)
  for (const example of examples) {
    const { eventName, name } = example.constructor as unknown as { eventName: string; name: string }
    const section = textOf(events, eventName)
    t.match(section, `\n\`${name}\``, eventName)
    const [, changes = ''] = /^May be changed: ([\s\S]*?)\n\n/m.exec(section) ?? []
    for (const [, property = ''] of changes.matchAll(/`(\w+)[^`]*`/g)) {
      t.ok(property in example || property in response, `${eventName}: ${property}`)
    }
  }
})

t.test('events are dispatched in the order of the reference', async t => {
  const handlers = createHandlerBundle({
    '/response': () => new Response('done'),
    '/else': () => 'something else',
    '/throws': () => {
      throw new Error('broken')
    },
  })
  const dispatcher = new RecordingDispatcher()
  const { app, client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), handlers], dispatcher })
  t.teardown(close)
  app.dispatcher.on(ViewEvent, event => event.respond(new Response('made')))
  const targets = ['/response', '/else', '/_health', '/nowhere', '/throws']
  const rows = readRows(textOf(events, 'What happens when'))
  t.equal(rows.length, targets.length)
  for (const [index, [what = '', order = '']] of rows.entries()) {
    dispatcher.forget()
    await client.get(String(targets[index]))
    t.strictSame(
      order.split(', ').map(name => `kernel.${name}`),
      dispatcher.sequence,
      what,
    )
  }
})

t.test('the priorities in the guide for Symfony developers are those of the reference', async t => {
  for (const [event = '', what = '', , here = ''] of readRows(textOf(symfony, 'Priorities'))) {
    t.ok(
      readRows(textOf(events, event)).some(([priority]) => priority === here),
      `${event}: ${what}`,
    )
  }
})

t.test('every declared signal is in the reference', async t => {
  const declared = ['kernel', 'bundles'].flatMap(layer =>
    listSources(layer).flatMap(file => {
      const [, map = ''] = /interface SignalMap \{([\s\S]*?)\n {2}\}/.exec(readFileSync(file, 'utf8')) ?? []
      return Array.from(map.matchAll(/'([a-z]+\.[a-z]+)':/g), ([, name]) => String(name))
    }),
  )
  const documented = readRows(textOf(events, 'Signals')).map(([name]) => name)
  t.strictSame(documented.toSorted(), declared.toSorted())
  const { app, close } = await createTestKernel({ bundles: [createFrameworkBundle()] })
  t.teardown(close)
  // A handler for another name in the area of the kernel or of the server is refused.
  for (const name of declared) app.signals.on(name as keyof SignalMap, () => undefined)
  t.throws(() => app.signals.on('server.started' as keyof SignalMap, () => undefined), { code: 'ARGUMENT_INVALID' })
})

/** All settings of the package, with the names of their bundles. */
const settings = Object.entries(readSettings('dev')).flatMap(([bundle, definitions]) =>
  Object.entries(definitions).map(([name, setting]) => ({ bundle, name, setting })),
)

t.test('every setting of an application is in the reference', async t => {
  const { stdout } = await runDocumented('debug:config --json')
  const listed = (JSON.parse(stdout) as { settings: readonly { name: string; bundle: string }[] }).settings
  t.strictSame(
    // An application has the bundle of tracing with an endpoint only, and not each one has a page cache.
    settings
      .filter(({ bundle }) => !['opentelemetry', 'page-cache'].includes(bundle))
      .map(({ bundle, name }) => `${bundle} ${name}`),
    listed.filter(({ bundle }) => bundle !== 'site').map(({ bundle, name }) => `${bundle} ${name}`),
  )
})

t.test('every setting refuses a wrong value', async t => {
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const bundles = [createFrameworkBundle(), createOpenTelemetryBundle(), createPageCache(), profiler]
  for (const { name, setting } of settings) {
    const boot = createTestKernel({ bundles, variables: { [name]: '? ?' } })
    if (setting.schema === undefined) await boot.then(({ close }) => close())
    else await t.rejects(boot, { code: 'CONFIG_INVALID', message: new RegExp(`^  ${name} `, 'm') }, name)
  }
})

t.test('the shipped .env lists every setting with a comment, and gives no value without a default', async t => {
  const { stdout } = await runDocumented('debug:config --json')
  const listed = (JSON.parse(stdout) as { settings: readonly { name: string }[] }).settings
  const shipped = Array.from(readFileSync('.env', 'utf8').matchAll(/(^#.*\n)?^(\w+)=(.*)$/gm))
  const names = shipped.map(([, comment, name]) => (comment === undefined ? `${name} without` : String(name)))
  // NODE_ENV is a variable of the machine, not of the application.
  t.strictSame(
    names.toSorted(),
    listed
      .map(({ name }) => name)
      .filter(name => name !== 'NODE_ENV')
      .toSorted(),
  )
  const isUnset = ({ default: value = [] }: Setting) => Array.isArray(value) && value.length === 0
  const optional = settings.filter(({ setting }) => 'default' in setting && isUnset(setting))
  const values = new Map(shipped.map(([, , name, value]) => [name, value]))
  t.strictSame(
    optional.map(({ name }) => name).filter(name => values.get(name)),
    [],
  )
})

t.test('every property of the configuration is in the reference', async t => {
  const rows = readRows(textOf(configuration, 'Settings')).filter(cells => cells.length === 2)
  t.strictSame(
    rows.map(([property]) => property),
    Object.keys(parseConfig({ APP_SECRET: 'a secret for tests, of enough characters' })),
  )
  const names = settings.map(({ name }) => name)
  t.strictSame(
    rows.map(([, name = '']) => name).filter(name => !names.includes(name)),
    [],
  )
})

t.test('every option of bin/serve is in the reference, with its default', async t => {
  const rows = readRows(textOf(configuration, 'bin/serve'))
  const options = Array.from(help.matchAll(/^ {2}(--[a-z-]+(?: <\w+>)?)/gm), ([, option]) => option)
  t.strictSame(
    rows.map(([option]) => option),
    options,
  )
  const defaults = Object.fromEntries(rows.map(([option = '', preset = '']) => [option.split(' ')[0], preset]))
  const { host, port, workers } = parseOptions([], {}) as { host: string; port: number; workers: number }
  t.match(defaults, { '--host': host, '--port': String(port), '--workers': String(workers) })
})

t.test('the options of the framework are those of the reference, with their defaults', async t => {
  const files = ['options.ts', 'protection.ts']
  const text = files.map(file => readFileSync(path.join('bundles/framework', file), 'utf8')).join('\n')
  const listOptions = (type: string, place: string): string[] => {
    const [, body = ''] = new RegExp(`interface ${type} (?:extends \\w+ )?\\{([\\s\\S]*?)\\n\\}`).exec(text) ?? []
    return Array.from(body.matchAll(/readonly (\w+)\?: (?:readonly )?(\w+)/g)).flatMap(([, name = '', kind = '']) =>
      kind.startsWith('Framework') || kind.startsWith('SessionCookie')
        ? listOptions(kind, `${place}${name}.`)
        : [`${place}${name}`],
    )
  }
  const rows = readRows(textOf(configuration, 'The framework'))
  t.strictSame(
    rows.map(([name]) => name).toSorted(),
    [...listOptions('FrameworkOptions', ''), ...listOptions('ProtectionOptions', '')].toSorted(),
  )
  const { cookie, times } = resolveOptions({})
  const defaults = { 'session.lifetime': times.lifetime, 'session.idleTime': times.idleTime }
  const cookieDefaults = Object.entries(cookie).map(([name, value]) => [`session.cookie.${name}`, value])
  const documented = new Map(rows.map(([name, preset]) => [name, preset]))
  for (const [name = '', value] of [...Object.entries(defaults), ...cookieDefaults]) {
    t.equal(documented.get(String(name)), String(value), String(name))
  }
  const headers = Object.entries(defaultHeaders).map(([name, value]) => `\`${name}: ${value}\``)
  t.equal(rows.find(([name]) => name === 'headers')?.[1], headers.join(', '))
  const names = Array.from((rows.find(([name]) => name === 'without')?.[2] ?? '').matchAll(/`([a-z-]+)`/g))
  t.strictSame(
    names.map(([, name]) => name),
    optionalListeners,
  )
})

t.test('the options of routes and of the profiler are those of the reference', async t => {
  const code = ['bundles/framework', 'kernel', 'lib'].flatMap(listSources).map(file => readFileSync(file, 'utf8'))
  for (const [name = ''] of readRows(textOf(configuration, 'Routes'))) {
    t.ok(
      code.some(text => text.includes(`attributes.get('${name}')`) || text.includes(`defaults.${name}`)),
      name,
    )
  }
  const options = ['record/recording-policy.ts', 'profiler-bundle.ts'].flatMap(file => {
    const text = readFileSync(path.join('bundles/profiler', file), 'utf8')
    const [, body = ''] = /interface (?:RecordingOptions|ProfilerOptions).*\{([\s\S]*?)\n\}/.exec(text) ?? []
    return Array.from(body.matchAll(/readonly (\w+)\?:/g), ([, name]) => name)
  })
  const documented = readRows(textOf(configuration, 'The profiler')).map(([name]) => name)
  t.strictSame(documented.toSorted(), options.toSorted())
})

function listSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => path.join(folder, file))
}
