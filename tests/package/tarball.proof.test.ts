import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { packPackage } from '#tests/support/pack.ts'
import { readReport } from '#tests/support/public-api.ts'
import { noNpm, Workplace } from '#tests/support/workplace.ts'

const { dependencies, engines, exports, name, version } = JSON.parse(readFileSync('package.json', 'utf8'))

t.test('the package as `npm pack` makes it', { skip: noNpm }, async t => {
  const place = await Workplace.create(t)
  const { file, files, size } = await packPackage(t, place.directory)
  const { code, output } = await place.run(`npm install --omit=dev ./${file}`)
  t.equal(code, 0, 'it can be installed', { output })
  const folder = `node_modules/${name}`

  t.test('it has what an application needs, and nothing else', async t => {
    const foreign = files.filter(
      file => !/^(?:dist|bundles|templates|docs)\/|^bin\/sinfonietta$|^[A-Z]+(?:\.md)?$|^package.json$/.test(file),
    )
    t.strictSame(foreign, [])
    const unwanted = /\.map$|\.tsbuildinfo$|(?:^|\/)\.|(?:^|\/)(?:tests|site|bench|soak)\/|\.test\.js$|(?<!\.d)\.ts$/
    // Skeletons and examples become files of an application.
    const isCopied = (file: string) => /^(?:bundles\/maker\/skeletons|docs\/examples)\//.test(file)
    t.strictSame(
      files.filter(file => !isCopied(file) && unwanted.test(file)),
      [],
    )
    for (const wanted of ['README.md', 'CHANGELOG.md', 'LICENSE', 'SECURITY.md', 'docs/README.md'])
      t.ok(files.includes(wanted), wanted)
    t.strictSame(
      files.filter(file => /^dist\/.*\.js$/.test(file) && /^\s*\/[/*]/m.test(place.read(path.join(folder, file)))),
      [],
      'comments are in declarations only',
    )
    t.ok(size < 1_200_000, 'it has some 1 MB', { size })
    t.comment(`${files.length} files, ${size} bytes packed`)
  })

  t.test('its declarations are those that the entry points need', async t => {
    t.strictSame(readReport(place.path(folder)), readReport())
    t.notOk(files.includes('dist/bin/serving/supervisor.d.ts'), 'a file that no entry point needs')
    const relatives = place.read(`${folder}/dist/bundles/profiler/insight/relatives.d.ts`)
    t.match(relatives, /interface ShownProfile/)
    t.notMatch(relatives, 'findOccurrences', 'what no entry point needs in a file that one needs')
  })

  t.test('each compiled file has its source, but the bundles of modules', async t => {
    const compiled = files.filter(file => file.startsWith('dist/') && !file.endsWith('/bundled.js'))
    t.ok(compiled.length > 300)
    t.strictSame(
      compiled.filter(file => !existsSync(file.replace(/^dist\//, '').replace(/(?:\.d)?\.(c?)[jt]s$/, '.$1ts'))),
      [],
    )
  })

  t.test('what sinfonietta/profile loads is in few files', async t => {
    const line = `node --import ${path.join(name, 'profile')} -e 0`
    const { code, output } = await place.run(line, '.', { NODE_V8_COVERAGE: 'coverage', PROFILER_PORT: '0' })
    t.equal(code, 0, output)
    const reports: { result: { url: string }[] }[] = [...place.filesOf('coverage').values()].map(text =>
      JSON.parse(text),
    )
    const loaded = new Set(reports.flatMap(({ result }) => result.map(({ url }) => url)))
    const own = [...loaded].filter(url => url.includes(`/${folder}/dist/`))
    t.ok(own.some(url => url.endsWith('/dist/bundles/profiler/bundled.js')))
    t.ok(own.length <= 105, `${own.length} modules are loaded`)
  })

  t.test('no file mentions a path of this machine', async t => {
    const paths = [process.cwd(), path.dirname(process.cwd()), String(process.env.HOME)].filter(each => each.length > 2)
    t.strictSame(
      files.filter(file => paths.some(each => place.read(path.join(folder, file)).includes(each + path.sep))),
      [],
    )
  })

  t.test('every target of `exports` is a file, and can be imported', async t => {
    const targets = Object.values(exports as Record<string, Record<string, string>>).flatMap(Object.values)
    t.ok(targets.length >= 12)
    t.strictSame(
      targets.filter(target => !files.includes(target.replace('./', ''))),
      [],
    )
    // This one exports nothing: it makes profiles of its process.
    const profile = './profile'
    const names = Object.keys(exports).flatMap(entry => (entry === profile ? [] : path.join(name, entry)))
    place.write(
      'import.mjs',
      names.map(entry => `console.log(Object.keys(await import('${entry}')).length)\n`).join(''),
    )
    const { code, output } = await place.run('node import.mjs')
    t.equal(code, 0, 'all are imported', { output })
    t.ok(
      output
        .trim()
        .split('\n')
        .every(count => Number(count) > 0),
      'each exports names',
      { output },
    )
    const profiled = await place.run(`node --import ${path.join(name, profile)} -e 0`)
    t.equal(profiled.code, 0)
    t.match(profiled.output, /^Profiler: http:\/\/127\.0\.0\.1:\d+\/_profiler\/$/m)
  })

  t.test('nothing else can be imported', async t => {
    const inner = files.filter(file => /^dist\/.*\.js$|^package\.json$/.test(file))
    place.write(
      'refused.mjs',
      `const open = []
for (const file of ${JSON.stringify(inner)}) {
  await import('${name}/' + file).then(() => open.push(file), error => {
    if (error.code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') open.push(error.code + ' ' + file)
  })
}
console.log(JSON.stringify(open))`,
    )
    const { output } = await place.run('node refused.mjs')
    t.equal(output, '[]\n')
  })

  t.test('it shows its version and its help', async t => {
    t.strictSame(await place.run('npx sinfonietta --version'), { code: 0, output: `${version}\n` })
    const { code, output } = await place.run('npx sinfonietta --help')
    t.equal(code, 0)
    t.match(output, /Usage: sinfonietta new <folder>/)
  })

  t.test('its types hold in an application that skips no check and has no types of its own', async t => {
    place.write('consumer.ts', consumer)
    const compiler = path.resolve('node_modules/typescript/bin/tsc')
    for (const exactOptionalPropertyTypes of [true, false]) {
      const options = {
        module: 'nodenext',
        target: 'es2023',
        strict: true,
        skipLibCheck: false,
        types: [],
        noEmit: true,
      }
      const compilerOptions = { ...options, exactOptionalPropertyTypes }
      place.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
      t.strictSame(await place.run(`"${process.execPath}" "${compiler}" --project .`), { code: 0, output: '' })
    }
  })

  t.test('it brings few packages, none of which runs a script at installation', async t => {
    const { packages } = JSON.parse(place.read('node_modules/.package-lock.json')) as {
      packages: Record<string, { hasInstallScript?: boolean; license?: string }>
    }
    const installed = Object.entries(packages).filter(([directory]) => place.has(directory))
    t.ok(installed.length <= 30, 'the package and at most 29 others', {
      installed: installed.map(([directory]) => directory),
    })
    t.ok(installed.length > Object.keys(dependencies).length)
    t.strictSame(
      installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([directory]) => directory),
      [],
    )
    t.comment(`${installed.length} packages`)
    const manifest = JSON.parse(place.read(`${folder}/package.json`))
    t.strictSame(
      ['preinstall', 'install', 'postinstall'].filter(script => script in (manifest.scripts ?? {})),
      [],
    )
    t.equal(manifest.version, version)
    t.strictSame(manifest.engines, engines)
  })
})

/** Imports all types, and adds a signal and an attribute. Each expected error is an error of its own if it is none. */
const consumer = `import { type Bundle, RequestEvent } from 'sinfonietta'
${Object.keys(exports)
  .map((entry, index) => `export * as entry${index} from '${path.join(name, entry)}'`)
  .join('\n')}

declare module 'sinfonietta' {
  interface SignalMap { 'shop.sold': { readonly id: number } }
  interface KnownAttributes { tenant: string }
}

export const shop: Bundle = {
  name: 'shop',
  register(app) {
    app.signals.on('shop.sold', ({ id }) => id.toFixed())
    app.signals.on('profile.saved', ({ token }) => token.trim())
    app.signals.on('server.listening', ({ url }) => url.trim())
    // @ts-expect-error A signal that no one declares
    app.signals.emit('shop.bought', { id: 1 })
    // @ts-expect-error A value of a wrong type
    app.signals.emit('shop.sold', { id: 'one' })
    app.dispatcher.on(RequestEvent, ({ request }) => {
      const tenant: string | undefined = request.attributes.get('tenant')
      const route: string | undefined = request.attributes.get('_route')
      // @ts-expect-error A value of a wrong type
      request.attributes.set('tenant', 1)
      return [tenant, route]
    })
  },
}
`
