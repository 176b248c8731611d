import { readFileSync } from 'node:fs'
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
