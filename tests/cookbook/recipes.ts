import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { type SiteProcess, startApplication } from '#tests/bin/site-process.ts'
import { type GuideBlock, parseGuide } from '#tests/support/guide.ts'
import { readSections } from '#tests/support/markdown.ts'
import { createInstallable } from '#tests/support/new-application.ts'
import { runProcess, withVariables } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const guide = 'docs/guides/cookbook.md'

/** The recipes that each proof runs. */
export const proven = {
  databases: ['Drizzle', 'Kysely', 'Knex', 'Prisma', 'mysql2', 'ioredis'],
  mails: ['BullMQ', 'Nodemailer'],
  logins: ['Passport', 'Better Auth', 'openid-client'],
  pages: ['Vite', 'Preact', 'OpenAPI'],
  machines: ['Docker', 'systemd'],
} as const

/** The titles of all recipes, as the guide has them. */
export function listRecipes(): string[] {
  return [...readSections(guide).keys()]
}

/** The statement that creates the table of the guide. */
export function readTable(): string {
  return String(parseGuide(readFileSync(guide, 'utf8')).find(({ language }) => language === 'sql')?.text)
}

/** The blocks of a recipe. */
export function readRecipe(title: string): GuideBlock[] {
  return parseGuide(readSections(guide).get(title) ?? '')
}

/** A served application, and what a test asks it. */
export interface Served {
  readonly site: SiteProcess
  readonly url: string
  /** Sends a request, and reads the profile of it. */
  profile(target: string): Promise<{ readonly body: unknown; readonly data: ProfileParts }>
  /** Reads the profile with a token, which a response has. */
  readProfile(token: unknown): Promise<ProfileParts>
}

/** The parts of a profile by the names of their collectors. */
export type ProfileParts = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/**
 * A new application with the packages and the files of some recipes, each installed and written as
 * the guide says. `further` are packages that only the test needs.
 */
export async function followRecipes(t: Test, titles: readonly string[], further: readonly string[] = []) {
  const directory = createInstallable(t)
  const run = async (line: string, variables: Readonly<Record<string, string>> = {}) => {
    const bin = path.join(directory, 'node_modules/.bin')
    const own = { PATH: `${bin}:${process.env.PATH}`, CHECKPOINT_DISABLE: '1', NO_COLOR: '1' }
    const command = withVariables({ ...own, ...variables }, 'sh', '-c', `exec 2>&1; ${line}`)
    const { code, stdout } = await runProcess(t, command, { cwd: directory })
    t.equal(code, 0, line, { output: stdout })
    return stdout
  }
  const write = (file: string, text: string) => {
    const place = path.join(directory, file)
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, text)
  }

  const blocks = titles.flatMap(readRecipe)
  const lines = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.trim().split('\n'))
  const packages = lines.flatMap(line => /^npm install (?:-D )?(.+)$/.exec(line)?.[1]?.split(' ') ?? [])
  // One call for all: npm needs seconds for each.
  await run(`npm install --no-audit --no-fund --ignore-scripts ${[...packages, ...further].join(' ')}`)
  const link = path.join(directory, 'node_modules/sinfonietta')
  rmSync(link, { recursive: true })
  symlinkSync(process.cwd(), link)

  const files = blocks.flatMap(({ file, text }) => (file === undefined ? [] : [{ file, text }]))
  for (const { file, text } of files) write(file, text)
  const prepare = /^(?:npm pkg|npx prisma|npx tsc) /
  for (const line of lines.filter(line => prepare.test(line))) {
    // A file that Prisma would download, and does not need here.
    await run(line, { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath })
  }
  await run('tsc')
  cpSync('biome.json', path.join(directory, 'biome.json'))
  const linted = files.map(({ file }) => file).filter(file => /^bundles\/.*\.ts$/.test(file))
  await run(`${path.resolve('node_modules/.bin/biome')} check ${linted.join(' ')}`)

  /** Writes the list of bundles: the calls, such as `createDrizzleBundle("…")`, by the paths of their files. */
  const list = (calls: Readonly<Record<string, string>>) => {
    const imports = Object.entries(calls).map(([file, call]) => {
      const [name] = /^\w+/.exec(call) ?? []
      return `import { ${name} } from './${file}'\n`
    })
    const all = ['createFrameworkBundle()', ...Object.values(calls)].join(', ')
    const source = `import { type Bundle, createFrameworkBundle } from 'sinfonietta'
${imports.join('')}
export function createBundles(): Bundle[] {
  return [${all}]
}
`
    write('bundles/index.ts', source)
  }

  const serve = async (
    t: Test,
    options: readonly string[] = ['--port=0'],
    variables: NodeJS.ProcessEnv = {},
  ): Promise<Served> => {
    const site = startApplication(t, directory, options, variables)
    const url = await site.url()
    const readProfile = async (token: unknown) => {
      const address = `${url}/_profiler/${token}.json`
      await until(async () => (await fetch(address)).ok)
      return ((await (await fetch(address)).json()) as { readonly data: ProfileParts }).data
    }
    const profile = async (target: string) => {
      const response = await fetch(url + target)
      return { body: await response.json(), data: await readProfile(response.headers.get('x-debug-token')) }
    }
    return { site, url, profile, readProfile }
  }

  const read = (file: string) => readFileSync(path.join(directory, file), 'utf8')
  return { directory, list, read, run, serve, write }
}
