import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { toTap } from '../../bundles/maker/import-order.ts'
import { profilerSettings, programSettings } from '../../bundles/profiler/settings.ts'
import { CommandUsageError, type ExitCode, exitCodes } from '../../kernel/contracts/console-command.ts'
import { parseWords } from '../../lib/console/command-line.ts'
import type { OutputStream } from '../../lib/console/output.ts'
import { packageDirectory, packageName, version } from '../../lib/package.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import { quoteForShell } from '../../lib/text/escapes.ts'
import { suggestNames } from '../../lib/text/mistakes.ts'

/** Streams and working directory of the program `sinfonietta`: those of the process, or those of a test. */
interface ProgramContext {
  readonly directory: string
  readonly stdout: OutputStream
  readonly stderr: OutputStream
}

/** The settings of a kernel that `profile` reads. */
const variables: readonly (readonly [name: string, help: string])[] = [
  [
    'DEBUG_ALLOWED_IPS',
    'addresses of other clients whose responses name their profiles, and who see the pages at the same port',
  ],
  ['APP_HOSTS', 'other names under which such clients reach this machine, such as stock or *.example.org'],
  ['DEBUG_ALLOWED_USERS', 'users of this machine who see the pages, too (Linux)'],
  ['DEBUG_KEY', 'a secret that clients must show to see the pages'],
]

function describeVariables(): string {
  const definitions = { ...programSettings.definitions, ...profilerSettings.definitions }
  const all = [...Object.entries(definitions).map(([name, { help }]) => [name, help] as const), ...variables]
  const width = Math.max(...all.map(([name]) => name.length))
  return all.map(([name, help]) => `  ${name.padEnd(width)}  ${help}`).join('\n')
}

const help = `Usage: sinfonietta new <folder> [--login [--database sqlite|postgres]] [--tests node|tap]
       sinfonietta profile [options of node] <file> [arguments]
       sinfonietta profile <program> [arguments]
       sinfonietta view [folder ... | redis://...]
       sinfonietta mcp [folder]

new: creates an application that depends on this package, in a folder that is empty or does not exist.
The name of the folder becomes the name of the application.
  --login               an application with users, roles, a login and a list, in a database
  --database sqlite     the database is a file (default); it needs Node.js 22.13 or later
  --database postgres   the database is PostgreSQL
  --tests node          its tests use the test runner of Node.js (default)
  --tests tap           its tests use tap: they need 250 packages more

profile: runs a Node.js program, and makes profiles of the requests to its HTTP servers, whichever framework they use.
The program is not changed. The address of the profiles is printed at the start. Two examples, of which the first starts
again after each change, and the second runs a script of package.json:
  sinfonietta profile --watch app.js --port 3000
  sinfonietta profile npm run dev
Options are variables of the environment:
${describeVariables()}

view: shows the profiles of programs that have ended, too: of those in the folders, of a Redis that
PROFILER_URL has named, or of all programs of this user.

mcp: answers a coding agent on stdin and stdout (Model Context Protocol), from the profiles of the program in a folder.

  -h, --help     shows this help
  -V, --version  shows the version
`

const options = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
  login: { type: 'boolean' },
  database: { type: 'string', alone: 'sqlite' },
  tests: { type: 'string' },
} as const

/** The commands, and what each needs. */
const usages: Readonly<Record<string, string>> = {
  new: 'new takes one folder: sinfonietta new my-site',
  profile: 'profile needs a file or a program: sinfonietta profile app.js',
  view: 'view takes folders, or one URL of Redis: sinfonietta view ../shop',
  mcp: 'mcp takes at most one folder: sinfonietta mcp ../shop',
}
const commands = Object.keys(usages)

function describeUnknown(command: string): string {
  if (existsSync(command)) return `"${command}" is no command. To profile a program: sinfonietta profile ${command}`
  const console = command.includes(':')
    ? ' Commands such as this are those of bin/console, in the folder of an application.'
    : /^(?:serve|server|start|dev|run|build)$/.test(command)
      ? ' An application is started by npm start in its folder, which runs bin/serve.'
      : ''
  return `There is no command "${command}"${suggestNames(command, commands) || `: use ${commands.join(', ')}`}.${console}`
}

/** Runs the program `sinfonietta` for everything but `profile`. Returns the exit code. */
export function runSinfonietta(
  commandLine: readonly string[],
  { directory, stderr, stdout }: ProgramContext,
): ExitCode {
  try {
    const { positionals, values } = parseCommandLine(commandLine)
    if (values.help || values.version) {
      stdout.write(values.help ? help : `${version}\n`)
      return exitCodes.success
    }
    const [command, folder, ...others] = positionals
    if (command !== undefined && !commands.includes(command)) throw new CommandUsageError(describeUnknown(command))
    if (command !== 'new' || !folder || others.length > 0) {
      const mistake = command === undefined ? '' : `${usages[command]}\n\n`
      throw new CommandUsageError(mistake + help.trimEnd())
    }
    const kind = chooseKind(values)
    const target = path.resolve(directory, folder)
    const files = createApplication(target, findPackage(packageDirectory, target), kind)
    stdout.write(describeNext(path.relative(directory, target), path.basename(target), files.length, kind))
    return exitCodes.success
  } catch (error) {
    stderr.write(`${readProperty(error, 'message')}\n`)
    return error instanceof CommandUsageError ? exitCodes.usage : exitCodes.failure
  }
}

/** What a new application is made with. */
export interface Kind {
  readonly hasTap?: boolean
  /** The database of an application with a login. */
  readonly database?: Database | undefined
}

const databases = ['sqlite', 'postgres'] as const
type Database = (typeof databases)[number]

function chooseKind(values: { readonly login?: boolean; readonly database?: string; readonly tests?: string }): Kind {
  const { database: name = 'sqlite', login = false, tests = 'node' } = values
  if (!['node', 'tap'].includes(tests)) throw new CommandUsageError(`--tests is node or tap, not "${tests}".`)
  const database = databases.find(each => each === name)
  if (database === undefined) throw new CommandUsageError(`--database is sqlite or postgres, not "${name}".`)
  if (!login && values.database !== undefined) {
    throw new CommandUsageError('--database is for an application with a login: add --login.')
  }
  // Earlier versions of Node have it only behind a flag, or not at all.
  if (login && database === 'sqlite' && !isBuiltin('node:sqlite')) {
    const { node } = process.versions
    throw new CommandUsageError(`SQLite needs Node.js 22.13 or later, and this is ${node}: use --database postgres.`)
  }
  return { hasTap: tests === 'tap', database: login ? database : undefined }
}

function parseCommandLine(commandLine: readonly string[]) {
  try {
    // The variables are of the other commands.
    const known = commandLine[0] === 'new' ? help.replace(describeVariables(), '') : help
    return parseWords(commandLine, { help: known, options, takesArguments: true })
  } catch (error) {
    throw new CommandUsageError(`${readProperty(error, 'message')}\n\n${help.trimEnd()}`)
  }
}

function describeNext(folder: string, name: string, count: number, { database }: Kind): string {
  const create = database === 'postgres' ? [`createdb ${name}`, `createdb ${name}_test`] : []
  const fill = database === undefined ? [] : [...create, 'bin/console database:migrate', 'bin/console database:seed']
  const commands = [...(folder === '' ? [] : [`cd ${quoteForShell(folder)}`]), 'npm install', ...fill, 'npm start']
  const lines = commands.map(command => `  ${command}\n`).join('')
  return `${count} files are created. Next:\n\n${lines}\nThe home page will be at http://127.0.0.1:8000/\n`
}

/** The fields of package.json that are read. */
interface Manifest {
  readonly engines: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8')) as Manifest
}

/**
 * Finds what npm has to install as the package, for an application in a folder. A tarball is named by its path from the
 * folder, because npm copies no tarball. Outside of `node_modules` the package is a clone, which npm links.
 */
export function findPackage(directory: string, folder: string): string {
  const from = resolveLinks(folder)
  const toSpec = (target: string) => `file:${path.relative(from, target).replaceAll(path.sep, '/')}`
  const modules = path.dirname(directory)
  if (path.basename(modules) !== 'node_modules') return toSpec(directory)
  // Of a project, or of the folder in which npx installs packages. A global installation has none.
  const project = path.dirname(modules)
  const { dependencies, devDependencies }: Partial<Manifest> = existsSync(path.join(project, 'package.json'))
    ? readManifest(project)
    : {}
  const spec = dependencies?.[packageName] ?? devDependencies?.[packageName] ?? ''
  if (spec.startsWith('file:')) return toSpec(path.resolve(project, spec.slice('file:'.length)))
  return spec.includes(':') ? spec : `^${version}`
}

/** The real path of a folder that need not exist: npm reads paths from there. */
function resolveLinks(folder: string): string {
  if (existsSync(folder)) return realpathSync(folder)
  return path.join(resolveLinks(path.dirname(folder)), path.basename(folder))
}

const skeletons = path.join(packageDirectory, 'bundles/maker/skeletons')
const ending = '.txt'

/** The files of a login are those of an example. */
const example = path.join(packageDirectory, 'docs/examples/database-and-login')

/** The packages of an application for its development. Their versions are those with which this package is tested. */
const tools = ['@types/node', 'typescript']

/** The packages of an application with a login. */
const loginPackages = ['i18next', 'nodemailer', 'rate-limiter-flexible', 'valibot', '@types/nodemailer']

/** Lets `npx tap` run the tests: its compiler does not work with TypeScript 7, and Node runs the sources. */
const taprc = 'test-env:\n  - TAP_TYPE_STRIP_ONLY=1\n'

/**
 * Writes the files of a new application. Returns their paths.
 *
 * @throws CommandUsageError if the name of the folder is no name of a package
 * @throws Error if the folder contains files, or cannot be written
 */
export function createApplication(folder: string, dependency: string, kind: Kind = {}): string[] {
  const name = path.basename(folder)
  checkName(name)
  checkEmpty(folder)
  const files = readFiles(kind)
  for (const [file, text] of files) {
    const target = path.join(folder, file)
    createFolder(path.dirname(target))
    const mode = path.dirname(file) === 'bin' ? 0o755 : 0o644
    const own = text.replaceAll('acme-shop', name)
    const content = file === 'package.json' ? completeManifest(own, dependency, kind) : own
    writeFileSync(target, content, { flag: 'wx', mode })
  }
  return [...files.keys()]
}

/** One by one: in a file system that refuses new folders, such as /proc, `recursive` of Node does not end. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return
  createFolder(path.dirname(folder))
  mkdirSync(folder)
}

/** The texts of a new application by their paths. */
function readFiles({ database, hasTap }: Kind): Map<string, string> {
  const files = readFolder(path.join(skeletons, 'application'))
  if (database !== undefined) addLogin(files, database)
  if (!hasTap) return files
  for (const [file, text] of files) if (file.endsWith('.test.ts')) files.set(file, toTap(text))
  return files.set('.taprc', taprc)
}

/** Puts the example with a login into the place of the home page. */
function addLogin(files: Map<string, string>, database: Database): void {
  const isSqlite = database === 'sqlite'
  const isHome = (file: string) => /\bhome\b/.test(file)
  for (const file of [...files.keys()].filter(isHome)) files.delete(file)
  const own = [...readFolder(example), ...(isSqlite ? readFolder(path.join(skeletons, 'sqlite')) : [])]
  for (const [file, text] of own) files.set(file, text)
  const change = (file: string, edit: (text: string) => string) => files.set(file, edit(files.get(file) ?? ''))
  change('AGENTS.md', text => text.replaceAll('tests/home.test.ts', 'tests/bundles/tools/tools-bundle.test.ts'))
  const url = isSqlite ? 'var/database.sqlite' : 'postgres://localhost/acme-shop'
  const settings = readFolder(path.join(skeletons, 'login')).get('.env') ?? ''
  change('.env', text => text + settings.replace('database-url', url))
  // SQLite counts up each key that is an integer.
  if (isSqlite) change('bundles/database/migrations.ts', text => text.replaceAll(' GENERATED ALWAYS AS IDENTITY', ''))
}

/** The texts of a folder by their paths, without the ending of skeletons. */
function readFolder(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = entries.filter(entry => statSync(path.join(folder, entry)).isFile())
  return new Map(
    files.map(file => {
      const text = readFileSync(path.join(folder, file), 'utf8')
      const name = file.replaceAll(path.sep, '/')
      return [name.endsWith(ending) ? name.slice(0, -ending.length) : name, text]
    }),
  )
}

function completeManifest(text: string, dependency: string, { database, hasTap }: Kind): string {
  const { dependencies, devDependencies, engines } = readManifest(packageDirectory)
  const ranges = Object.entries({ ...dependencies, ...devDependencies })
  const login = [...loginPackages, ...(database === 'postgres' ? ['pg', '@types/pg'] : [])]
  const wanted = [...tools, ...(hasTap ? ['tap'] : []), ...(database === undefined ? [] : login)]
  const versions = ranges
    .filter(([name]) => wanted.includes(name))
    .map(([name, range]) => [name, `^${range.replace(/^\D+/, '')}`] as const)
  const isSqlite = database === 'sqlite'
  const isTool = (name: string) => name === 'tap' || name === 'typescript' || name.startsWith('@types/')
  const manifest: object = {
    ...(JSON.parse(text) as object),
    engines: isSqlite ? { node: '>=22.13' } : engines,
    dependencies: {
      ...Object.fromEntries(versions.filter(([name]) => !isTool(name))),
      [packageName]: dependency,
    },
    devDependencies: {
      ...Object.fromEntries(versions.filter(([name]) => isTool(name))),
      // Earlier ones have no types of SQLite.
      ...(isSqlite ? { '@types/node': '^24' } : {}),
    },
  }
  return `${JSON.stringify(manifest, undefined, 2)}\n`
}

/** The name of an application becomes the name of a package, which npm restricts. */
function checkName(name: string): void {
  if (
    /^[a-z\d][a-z\d._-]{0,99}$/.test(name) &&
    ![packageName, 'node_modules', 'pg', ...tools, ...loginPackages].includes(name)
  )
    return
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const right = plain.replace(/[^a-z\d]+/g, '-').replace(/^-|-$/g, '')
  const example = right === '' || right === name ? 'my-site' : right
  throw new CommandUsageError(
    `The folder "${name}" gives the application its name, which is also the name of an npm package: ` +
      `use up to 100 lower-case letters, digits, hyphens, dots and underscores, such as "${example}".`,
  )
}

function checkEmpty(folder: string): void {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is a file. Nothing was written.`)
  // A repository without files is the usual beginning of a project.
  const [entry] = readdirSync(folder).filter(entry => entry !== '.git')
  if (entry !== undefined) throw new Error(`${folder} is not empty: it contains ${entry}. Nothing was written.`)
}
