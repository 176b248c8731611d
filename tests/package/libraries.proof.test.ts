import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { createApplication } from '#bin/new-application.ts'
import { readRows } from '#tests/support/markdown.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { createTarball } from '#tests/support/tarball.ts'

/** Libraries that applications use most, with what they bring. */
const libraries = [
  ...[
    'drizzle-orm',
    'typeorm',
    'knex',
    'kysely',
    '@prisma/client',
    'pg',
    'mysql2',
    'better-sqlite3',
    'mongodb',
    // typeorm does not take version 6.
    'ioredis@5',
  ],
  ...['better-auth', 'passport', 'jose', 'bullmq', 'nodemailer', 'pino', 'date-fns', 'zod', 'valibot'],
  ...['vite', 'vitest', 'react@19', 'react-dom@19', 'express', 'hono', 'fastify'],
]

/** A package of package-lock.json, which also has those of other platforms. */
interface LockedPackage {
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
}

/** A new application. Its package sinfonietta has only the manifest, which names the other packages. */
function createSite(t: Test) {
  const folder = mkdtempSync(path.join(tmpdir(), 'libraries-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { scripts, ...manifest } = JSON.parse(readFileSync('package.json', 'utf8'))
  const content = Buffer.from(JSON.stringify(manifest))
  writeFileSync(
    path.join(folder, 'package.tgz'),
    createTarball([{ path: 'package.json', content, isExecutable: false }]),
  )
  const directory = path.join(folder, 'my-site')
  createApplication(directory, 'file:../package.tgz')
  const install = async (...words: readonly string[]) => {
    const line = ['npm', 'install', '--package-lock-only', '--no-audit', '--no-fund', ...words]
    const { code, stderr } = await runProcess(t, line, { cwd: directory })
    return { code, stderr }
  }
  const listPackages = (): string[] => {
    const { packages } = JSON.parse(readFileSync(path.join(directory, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, LockedPackage>
    }
    const isHere = ({ cpu = [process.arch], os = [process.platform] }: LockedPackage) =>
      cpu.includes(process.arch) && os.includes(process.platform)
    return Object.keys(packages).filter(name => name !== '' && isHere(packages[name] ?? {}))
  }
  return { install, listPackages }
}

t.test(
  'a new application has at most 60 packages, and takes common libraries without a conflict',
  { skip: noRegistry },
  async t => {
    const { install, listPackages } = createSite(t)
    t.match(await install(), { code: 0 })
    const packages = listPackages()
    t.comment(`${packages.length} packages`)
    t.ok(packages.length <= 60, 'at most 60', { packages })
    t.ok(packages.includes('node_modules/typescript') && packages.includes('node_modules/valibot'))

    const { code, stderr } = await install(...libraries)
    t.equal(code, 0, 'all together', { stderr })
    const installed = listPackages()
    const missing = libraries.filter(name => !installed.includes(`node_modules/${name.replace(/(?<=.)@.*/, '')}`))
    t.strictSame(missing, [])
    t.comment(`${installed.length} packages with ${libraries.length} libraries`)
  },
)

t.test('an application of Fastify is mounted as the guide says', { skip: noRegistry }, async t => {
  const calls = readRows(readFileSync('docs/guides/interop.md', 'utf8')).flat()
  const call = calls.find(cell => cell.includes('fast.routing'))
  const directory = mkdtempSync(path.join(tmpdir(), 'fastify-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(path.join(directory, 'package.json'), '{ "type": "module" }')
  const installed = await runProcess(t, ['npm', 'install', '--no-audit', '--no-fund', 'fastify'], { cwd: directory })
  t.equal(installed.code, 0, 'it is installed', { installed })
  symlinkSync(process.cwd(), path.join(directory, 'node_modules/sinfonietta'), 'junction')
  writeFileSync(
    path.join(directory, 'mounted.js'),
    `import Fastify from 'fastify'
import { createFrameworkBundle, mountNodeHandler } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'

const fast = Fastify()
fast.get('/orders/:id', async ({ params, url }) => ({ id: params.id, url }))
fast.post('/orders', async ({ body }, reply) => reply.code(201).send(body))
fast.get('/broken', async () => { throw new Error('The old code fails.') })
await fast.ready()
const mount = { name: 'fast', register({ routes }) { ${call} } }
const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), mount] })
const responses = [
  await client.get('/fast/orders/7'),
  await client.post('/fast/orders', { json: { id: 8 } }),
  await client.get('/fast/broken'),
  await client.get('/fast/nothing'),
]
console.log(JSON.stringify(responses.map(({ status, text }) => [status, JSON.parse(text)])))
await close()
`,
  )
  const { stderr, stdout } = await runProcess(t, [process.execPath, 'mounted.js'], { cwd: directory })
  t.match(stdout === '' ? stderr : JSON.parse(stdout), [
    [200, { id: '7', url: '/orders/7' }],
    [201, { id: 8 }],
    [500, { message: 'The old code fails.' }],
    [404, { message: 'Route GET:/nothing not found' }],
  ])
})
