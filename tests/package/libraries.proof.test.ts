import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { createInstallable } from '#tests/support/new-application.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess } from '#tests/support/start-process.ts'

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

/**
 * Applications with the commonest frameworks, databases and tools, also with older versions of what is optional here.
 */
const stacks: readonly (readonly string[])[] = [
  ['next@14', 'react@18', 'react-dom@18', '@prisma/client@5', 'zod@3'],
  ['next@16', 'react@19', 'react-dom@19', 'drizzle-orm', 'zod@4.0.0'],
  ['@nestjs/common@10', '@nestjs/core@10', 'reflect-metadata@0.2', 'rxjs@7', 'typeorm@0.3', 'pg@8', 'ioredis@5.8.2'],
  ['express@4', 'sequelize@6', 'mysql2@3.11.5', 'redis@4', 'zod@3.22.4', 'jest@29', 'typescript@5'],
  ['express@5', '@opentelemetry/sdk-node@0.218.0', 'mongoose@8', '@modelcontextprotocol/sdk@1.10'],
  ['fastify@4', '@opentelemetry/sdk-node@0.57.2', 'knex@3', '@types/node@18'],
  ['fastify@5', 'ioredis@6', '@opentelemetry/api@1.4.1', '@opentelemetry/sdk-trace-base@1.15.0'],
  ['koa@2', 'ioredis@4', 'zod@4.0.0-beta.20250505T195954', 'commander@8', 'cookie@0.5'],
  ['hono@4', 'zod@npm:zod@3', 'valibot@0.42', 'vitest@3', 'typescript@5'],
]

/** A package of package-lock.json, which also has those of other platforms. */
interface LockedPackage {
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
}

/** A new application, and what npm would install for it. */
function createSite(t: Test) {
  const directory = createInstallable(t)
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

t.test('no library refuses the package, whichever is installed first', { skip: noRegistry, jobs: 2 }, async t => {
  const tarball = path.join(path.dirname(createInstallable(t)), 'package.tgz')
  const create = () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'stack-'))
    t.teardown(() => rmSync(directory, { recursive: true, force: true }))
    writeFileSync(path.join(directory, 'package.json'), '{}')
    return directory
  }
  const install = async (cwd: string, ...words: readonly string[]) => {
    const line = ['npm', 'install', '--package-lock-only', '--prefer-offline', '--no-audit', '--no-fund', ...words]
    let printed = ''
    // A refusal has a reason. npm has also ended without a word: then it is tried again.
    for (let attempt = 1; attempt <= 3; attempt++) {
      const { code, stderr, stdout } = await runProcess(t, line, { cwd })
      if (code === 0) return []
      printed = `npm ended with ${code}: ${stderr}${stdout}`
      if (stderr !== '') break
      t.comment(`attempt ${attempt}: ${printed}`)
    }
    return [printed]
  }
  const first = create()
  t.strictSame(await install(first, '--save-dev', tarball), [])
  for (const stack of stacks) {
    t.test(stack.join(' '), async t => {
      const [later, earlier] = [create(), create()]
      for (const file of ['package.json', 'package-lock.json']) cpSync(path.join(first, file), path.join(earlier, file))
      t.strictSame(await install(later, ...stack), [], 'without the package')
      t.strictSame(await install(later, '--save-dev', tarball), [], 'first the libraries')
      t.strictSame(await install(earlier, ...stack), [], 'first the package')
    })
  }
})
