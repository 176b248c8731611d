import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { HttpError } from '#lib/errors/http-error.ts'
import { isAtLeast, loadOptional, type OptionalPackage, optionalPackages } from '#lib/optional-packages.ts'

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const names = Object.keys(optionalPackages) as OptionalPackage[]

t.test('no version of an optional package makes npm refuse the installation', async t => {
  const optional = Object.fromEntries(names.map(name => [name, { optional: true }]))
  t.strictSame(manifest.peerDependenciesMeta, optional)
  t.strictSame(manifest.peerDependencies, Object.fromEntries(names.map(name => [name, '*'])))
})

/** A folder with installed packages, where no other project is around it. */
function install(t: Test, packages: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'packages-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const [name, version] of Object.entries(packages)) {
    mkdirSync(path.join(folder, 'node_modules', name), { recursive: true })
    writeFileSync(path.join(folder, 'node_modules', name, 'package.json'), JSON.stringify({ version }))
  }
  return folder
}

/** Versions that a feature can use, and others. */
const versions: Readonly<Record<OptionalPackage, { readonly fit: string[]; readonly unfit: string[] }>> = {
  '@modelcontextprotocol/sdk': { fit: ['1.32.0', '1.40.1'], unfit: ['0.6.0', '1.24.3', '2.0.0'] },
  zod: { fit: ['3.25.76', '4.0.0', '4.6.7', '4.0.0-beta.20250505T195954'], unfit: ['3.24.4', '3.22.4', '5.0.0'] },
  ioredis: { fit: ['5.2.6', '5.8.2', '5.11.1', '6.0.0'], unfit: ['4.31.0', '5.1.0', '7.0.0-beta.1'] },
  '@opentelemetry/api': { fit: ['1.9.0', '1.10.0'], unfit: ['1.4.1', '0.21.0'] },
  '@opentelemetry/context-async-hooks': { fit: ['2.0.0', '2.12.0'], unfit: ['1.30.1'] },
  '@opentelemetry/core': { fit: ['2.12.1'], unfit: ['1.30.1', '3.0.0'] },
  '@opentelemetry/exporter-trace-otlp-http': { fit: ['0.200.0', '0.223.1'], unfit: ['0.57.2', '0.300.0', '1.0.0'] },
  '@opentelemetry/exporter-trace-otlp-proto': { fit: ['0.200.0', '0.223.1'], unfit: ['0.57.2', '0.300.0'] },
  '@opentelemetry/resources': { fit: ['2.12.1'], unfit: ['1.30.1'] },
  '@opentelemetry/sdk-trace-base': { fit: ['2.12.1'], unfit: ['1.15.0', '1.30.1'] },
}

t.test('a version that a feature cannot use is an error that names it and those that work', async t => {
  const find = async (name: OptionalPackage, version?: string) => {
    const folder = install(t, version === undefined ? {} : { [name]: version })
    const missing = () => new HttpError(500, 'missing')
    const need = { feature: 'Redis', packages: [name], load: async () => 'loaded', missing }
    return loadOptional(need, folder).catch(error => error.message)
  }
  const wrong: unknown[] = []
  for (const name of names) {
    const { fit, unfit } = versions[name]
    const [from, below, best] = optionalPackages[name]
    for (const version of [undefined, ...fit]) {
      const found = await find(name, version)
      if (found !== 'loaded') wrong.push([name, version, found])
    }
    for (const version of unfit) {
      const found = await find(name, version)
      const expected = `Redis needs ${name} from ${from} on and below ${below}, but ${version} is installed`
      if (found !== `${expected}: npm install ${name}@${best}`) wrong.push([name, version, found])
    }
  }
  t.strictSame(wrong, [])
})

t.test('the versions of this repository can be used, and those that the messages name', async t => {
  const unfit = names.filter(name => {
    const [from, below, best] = optionalPackages[name]
    const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'))
    return [version, `${best}.999`].some(each => !isAtLeast(each, from) || isAtLeast(each, below))
  })
  t.strictSame(unfit, [])
})

t.test('all versions that cannot be used are named; the command changes no other package', async t => {
  const folder = install(t, {
    '@opentelemetry/api': '1.4.1',
    '@opentelemetry/core': '1.30.1',
    '@opentelemetry/resources': '2.0.0',
  })
  const packages = ['api', 'core', 'resources', 'sdk-trace-base'].map(
    name => `@opentelemetry/${name}`,
  ) as OptionalPackage[]
  const load = () => Promise.reject(new Error('not called'))
  const need = { feature: 'Tracing', packages, load, missing: () => new HttpError(500, 'missing') }
  await t.rejects(loadOptional(need, folder), {
    code: 'PACKAGE_VERSION_UNFIT',
    message:
      'Tracing needs @opentelemetry/api from 1.9 on and below 2, but 1.4.1 is installed, ' +
      '@opentelemetry/core from 2 on and below 3, but 1.30.1 is installed: ' +
      'npm install @opentelemetry/api@1.9 @opentelemetry/core@2 @opentelemetry/sdk-trace-base@2',
  })
})
