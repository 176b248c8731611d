import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { readRunTimePackages } from './support/run-time-packages.ts'

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const packages = readRunTimePackages()

t.test('the packages at run time are few, free to use, and run nothing when they are installed', async t => {
  t.ok(packages.length > Object.keys(manifest.dependencies).length, 'packages of packages are found')
  t.ok(packages.length <= 29, 'at most 29', { count: packages.length })
  const licences = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0']
  t.strictSame(
    packages.filter(({ licence }) => !licences.includes(licence)).map(({ licence, name }) => `${name}: ${licence}`),
    [],
  )
  const automatic = ['preinstall', 'install', 'postinstall']
  t.strictSame(
    [...packages, { name: manifest.name, scripts: Object.keys(manifest.scripts) }]
      .filter(({ scripts }) => automatic.some(name => scripts.includes(name)))
      .map(({ name }) => name),
    [],
  )
})

t.test('npm ci warns of nothing: no package needs a later Node.js or has an install script', async t => {
  const locked: Record<string, { engines?: { node?: string }; hasInstallScript?: boolean; os?: string[] }> = JSON.parse(
    readFileSync('package-lock.json', 'utf8'),
  ).packages
  const least = 20
  t.match(manifest.engines.node, `>=${least}.`)
  const warned = Object.entries(locked).filter(([, { engines, hasInstallScript, os }]) => {
    // npm leaves out those of other systems.
    const isElsewhere = os?.includes(process.platform) === false
    const majors = engines?.node?.split('||').map(range => Number(/\d+/.exec(range)?.[0] ?? 0)) ?? [0]
    return Math.min(...majors) > least || (hasInstallScript && !isElsewhere)
  })
  t.strictSame(
    warned.map(([name]) => name),
    [],
  )
})

t.test('of two versions of a package, the one that is used is read', async t => {
  const manifest = (license: string, ...names: string[]) =>
    JSON.stringify({ license, dependencies: Object.fromEntries(names.map(name => [name, '*'])) })
  const directory = t.testdir({
    'package.json': manifest('MIT', 'a', 'b', 'c'),
    node_modules: {
      a: { 'package.json': manifest('ISC') },
      b: { 'package.json': manifest('MIT', 'a'), node_modules: { a: { 'package.json': manifest('BSD-3-Clause') } } },
      c: { 'package.json': manifest('MIT', 'a') },
    },
  })
  t.strictSame(
    readRunTimePackages(directory).map(({ licence, name, parent }) => ({ licence, name, parent })),
    [
      { licence: 'ISC', name: 'a', parent: '' },
      { licence: 'BSD-3-Clause', name: 'a', parent: 'b' },
      { licence: 'MIT', name: 'b', parent: '' },
      { licence: 'MIT', name: 'c', parent: '' },
    ],
  )
})

t.test('the package can be published, and names no repository', async t => {
  t.notOk(manifest.private)
  t.match(readFileSync('LICENSE', 'utf8'), new RegExp(`^${manifest.license} License`))
  for (const field of ['repository', 'homepage', 'bugs', 'author', 'main', 'types']) t.notOk(field in manifest, field)
})

t.test('the sources are checked with the types of the lowest version of Node', async t => {
  const { version } = JSON.parse(readFileSync('node_modules/@types/node/package.json', 'utf8'))
  t.match(manifest.engines.node, new RegExp(`^>=${version.split('.')[0]}\\.`))
})

t.test('a module has no side effects when it is imported, except for those that package.json names', async t => {
  const named = ['exports/profile', 'profiling/profile-process']
  t.strictSame(
    manifest.sideEffects,
    named.map(file => `./dist/bin/${file}.js`),
  )
  const files = ['lib', 'kernel', 'bundles', 'bin'].flatMap(layer =>
    readdirSync(layer, { recursive: true, encoding: 'utf8' }).map(file => path.join(layer, file)),
  )
  const sources = files.filter(file => file.endsWith('.ts') && !file.includes('/client/'))
  t.ok(sources.length > 100, 'sources are found')
  t.strictSame(
    sources.filter(file => /^import '/m.test(readFileSync(file, 'utf8'))),
    // Two warn of `--import sinfonietta`, two of an old Node.js: without it, a bundle of the application is the same.
    [
      'bin/programs.ts',
      'bin/exports/profile.ts',
      'bin/exports/profiler.ts',
      'bin/exports/sinfonietta.ts',
      'bin/profiling/profile-process.ts',
    ],
  )
})

t.test('scripts need no shell of Unix', async t => {
  const commands = Object.values<string>(manifest.scripts).flatMap(script => script.split(' && '))
  t.strictSame(
    commands.filter(command => !/^(?:node|tsc|biome) [\w./:= -]+$/.test(command)),
    [],
  )
})

t.test('the benchmarks import what the sources export', async t => {
  const imports = /^import \{([^}]+)\} from '(?:\.\.\/)+dist\/(.+)\.js'$/gm
  const missing: string[] = []
  for (const file of readdirSync('bench', { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.js') || file.includes('node_modules')) continue
    for (const [, names = '', module] of readFileSync(path.join('bench', file), 'utf8').matchAll(imports)) {
      const exported = await import(path.resolve('dist', `${module}.js`))
      missing.push(
        ...names
          .split(',')
          .map(name => name.trim())
          .filter(name => name !== '' && !(name in exported)),
      )
    }
  }
  t.strictSame(missing, [])
})
