import { spawnSync } from 'node:child_process'
import path from 'node:path'
import type { Test } from 'tap'
import { startApplication } from '#tests/bin/site-process.ts'
import { withoutPlaces } from './documented-console.ts'
import { applyDiff, type GuideBlock, isExcerpt, isOutput, readCommands, readExample, readGuide } from './guide.ts'
import { compiled, GuideProject } from './guide-project.ts'
import { type DatabaseServer, lacksPostgres, startPostgres } from './start-postgres.ts'

/** A guide with its blocks. */
interface Guide {
  readonly name: string
  readonly blocks: readonly GuideBlock[]
}

/** The address of servers in the guides; in a test each server has its own port. */
const documented = '127.0.0.1:8000'

/** Languages of files for other programs, and the guides whose own tests cover them. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  ini: ['deploy.md', 'several-machines.md'],
  nginx: ['deploy.md', 'several-machines.md'],
  yaml: ['several-machines.md', 'containers.md'],
  text: ['several-machines.md', 'profile-any-server.md'],
  json: ['coding-agents.md'],
  md: ['cpu-profile.md'],
}

const noCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'there is no curl on this machine'

/** The guide to an application with a login. */
const loginGuide = 'database-and-login.md'

/** Follows guides in one new application, and tests that each of their blocks of code works as shown. */
export async function followGuides(t: Test, names: readonly string[]): Promise<void> {
  const others = names.filter(name => name !== loginGuide)
  if (others.length > 0) await followIn(t, others, new GuideProject(t))
  if (others.length === names.length) return
  await t.test('in an application with a login', t =>
    followIn(t, [loginGuide], new GuideProject(t, { database: 'postgres' })),
  )
}

async function followIn(t: Test, names: readonly string[], project: GuideProject): Promise<void> {
  const all = names.map(name => ({
    name,
    blocks: [
      ...readExample(path.join('docs/examples', name.replace('.md', ''))),
      ...readGuide(path.join('docs/guides', name)),
    ],
  }))
  await checkCode(t, all, project)
  await checkWarnings(
    t,
    project,
    all.some(({ blocks }) => blocks.some(needsDatabase)),
  )
  for (const { blocks, name } of all) {
    await t.test(name, async t => {
      project.reset()
      const files = writeFiles(blocks, project)
      for (const block of blocks) checkText(t, block, name, files, project)
      await followGuide(t, name, blocks, files, project)
    })
  }
}

/** Compiles and lints the code of the guides at once, because a compiler needs a second to start. */
async function checkCode(t: Test, all: readonly Guide[], project: GuideProject): Promise<void> {
  const written: string[] = []
  for (const { blocks, name } of all) {
    // Each guide changes the list of bundles, one or several times: its changed list is a file beside it.
    const changed = new Map<string, string>()
    for (const { file, language, text } of blocks) {
      if (file === undefined || !/\.(?:ts|m?js|json|css)$/.test(file)) continue
      if (language === 'diff') changed.set(file, applyDiff(changed.get(file) ?? project.read(file), text))
      else {
        t.notOk(written.includes(file), `${file} is a file of one guide only`)
        project.write(file, text)
        written.push(file)
      }
    }
    for (const [file, text] of changed) {
      const place = toChanged(file, name)
      project.write(place, text)
      written.push(place)
    }
  }
  await succeed(t, project, `node_modules/.bin/tsc --project . --noEmit false --outDir ${compiled} --sourceMap`)
  await succeed(t, project, `node_modules/.bin/biome check ${written.join(' ')}`)
  for (const file of written.filter(file => /\.m?js$/.test(file))) await succeed(t, project, `node --check ${file}`)
}

/** The name under which a file that a guide changes is compiled, because other guides change it, too. */
function toChanged(file: string, guide: string): string {
  return file.replace(/[^/]+$/, own => `${guide}.${own}`)
}

function toCompiled(file: string): string {
  return `${compiled}/${file.replace(/ts$/, 'js')}`
}

async function succeed(
  t: Test,
  project: GuideProject,
  line: string,
  variables?: Readonly<Record<string, string>>,
): Promise<void> {
  const { code, output } = await project.run(line, variables)
  t.equal(code, 0, line, { output })
}

function urlOf({ database, host, port, user }: DatabaseServer): string {
  return `postgres://${user}@${host}:${port}/${database}`
}

/** Writes the files of a guide into the project, and applies its diffs. */
function writeFiles(blocks: readonly GuideBlock[], project: GuideProject): string[] {
  const named = blocks.flatMap(({ file, ...block }) => (file === undefined ? [] : [{ ...block, file }]))
  for (const { file, language, text } of named) {
    project.write(file, language === 'diff' ? applyDiff(project.read(file), text) : text)
  }
  return named.map(({ file }) => file)
}

/**
 * Checks blocks that are neither files nor commands with output: parts of files, endless commands,
 * settings of other programs.
 */
function checkText(
  t: Test,
  { file, language, text }: GuideBlock,
  name: string,
  files: readonly string[],
  project: GuideProject,
): void {
  if (file !== undefined || language === 'console') return
  const begin = text.split('\n', 1)[0]
  if (language === 'sh') t.equal(spawnSync('sh', ['-n'], { input: text }).status, 0, `${begin} …`)
  else if (language in elsewhere) t.ok(elsewhere[language]?.includes(name), `${begin} … is tested`)
  else {
    const isPart = files.some(each => isExcerpt(text, project.read(each)))
    t.ok(isPart, `${begin} … is a part of a file of the guide`)
  }
}

const bundleList = 'bundles/index.ts'

function needsDatabase({ text }: GuideBlock): boolean {
  return text.includes('TEST_DATABASE_URL')
}

/** Asks for each page of the application: right code causes no warning, except for those that the guide shows. */
async function checkWarnings(
  t: Test,
  project: GuideProject,
  isStored: boolean,
  blocks: readonly GuideBlock[] = [],
): Promise<void> {
  await t.test('its pages cause no warning', { skip: isStored && lacksPostgres }, async t => {
    const variables = isStored ? { DATABASE_URL: urlOf(await startPostgres(t)) } : {}
    const program = path.resolve('dist/tests/support/print-warnings.js')
    const { code, output } = await project.run(`node ${program} ${toCompiled(bundleList)}`, variables)
    const isShown = (line: string) => blocks.some(({ text }) => text.includes(line.replace(/^\w+: /, '')))
    const warnings = output.split('\n').filter(line => line !== '' && !isShown(line))
    t.strictSame({ code, warnings }, { code: 0, warnings: [] })
  })
}

/** Runs the tests of a guide in one process, then its commands in their order, and checks the warnings of its pages. */
async function followGuide(
  t: Test,
  name: string,
  blocks: readonly GuideBlock[],
  files: readonly string[],
  project: GuideProject,
): Promise<void> {
  const tests = files.filter(file => file.endsWith('.test.ts'))
  for (const file of files) {
    const changed = toCompiled(toChanged(file, name))
    if (project.has(changed)) project.write(toCompiled(file), project.read(changed))
  }
  if (tests.length > 0) {
    project.write(`${compiled}/tests.js`, tests.map(file => `import './${file.replace(/ts$/, 'js')}'\n`).join(''))
    const isStored = blocks.some(needsDatabase)
    await t.test('its tests', { skip: isStored && lacksPostgres }, async t => {
      const variables = isStored ? { TEST_DATABASE_URL: urlOf(await startPostgres(t)) } : {}
      await succeed(t, project, `node --enable-source-maps ${compiled}/tests.js`, variables)
    })
  }
  const commands = blocks.filter(({ language }) => language === 'console').flatMap(readCommands)
  if (commands.length > 0) await project.build()
  let server: Promise<string> | undefined
  let place = documented
  for (const { line, output: shown } of commands) {
    const needsServer = line.includes(documented)
    await t.test(line, { skip: needsServer && noCurl }, async command => {
      if (needsServer) server ??= startApplication(t, project.directory).url()
      if (needsServer) place = new URL(String(await server)).host
      const { output: printed } = await project.run(line.replaceAll(documented, place))
      const actual = withoutPlaces(printed.replaceAll('\r', '').replaceAll(place, documented)).trimEnd()
      command.ok(isOutput(actual, withoutPlaces(shown)), 'prints what the guide shows', { actual, shown })
    })
  }
  // The commands show what the pages store.
  if (files.includes(bundleList)) await checkWarnings(t, project, blocks.some(needsDatabase), blocks)
}
