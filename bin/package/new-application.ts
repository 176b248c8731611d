import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { toTap } from '../../bundles/maker/import-order.ts'
import { profilerSettings } from '../../bundles/profiler/settings.ts'
import { CommandUsageError, type ExitCode, exitCodes } from '../../kernel/contracts/console-command.ts'
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

/** The variables of `profile` that are no settings of the profiler's pages. */
const variables: readonly (readonly [name: string, help: string])[] = [
  ['PROFILER_PORT=8200', 'the port of their pages; by default 8100, or a free one'],
  ['PROFILER_SAME_PORT=1', 'shows the pages also at /_profiler/ of the program itself'],
  ['PROFILER_TOOLBAR=1', 'adds the toolbar to HTML pages of the program, with PROFILER_SAME_PORT'],
  ['PROFILER_IN_PRODUCTION=1', 'makes profiles also if NODE_ENV is production'],
  [
    'DEBUG_ALLOWED_IPS',
    'addresses of other clients whose responses name their profiles, and who see the pages at the same port',
  ],
  ['APP_HOSTS', 'other names under which such clients reach this machine, such as stock or *.example.org'],
  ['DEBUG_ALLOWED_USERS', 'users of this machine who see the pages, too (Linux)'],
  ['DEBUG_KEY', 'a secret that clients must show to see the pages'],
]

function describeVariables(): string {
  const settings = Object.entries(profilerSettings.definitions).map(([name, { help }]) => [name, help] as const)
  const all = [...variables, ...settings]
  const width = Math.max(...all.map(([name]) => name.length))
  return all.map(([name, help]) => `  ${name.padEnd(width)}  ${help}`).join('\n')
}

const help = `Usage: sinfonietta new <folder> [--tests node|tap]
       sinfonietta profile [options of node] <file> [arguments]
       sinfonietta view [folder ... | redis://...]
       sinfonietta mcp [folder]

new: creates an application that depends on this package, in a folder that is empty or does not exist.
The name of the folder becomes the name of the application.
  --tests node   its tests use the test runner of Node.js (default)
  --tests tap    its tests use tap: they need 250 packages more

profile: runs a Node.js program, and makes profiles of the requests to its HTTP servers, whichever framework they use.
The program is not changed. The address of the profiles is printed at the start. An example, which starts again after each change:
  sinfonietta profile --watch app.js --port 3000
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
  tests: { type: 'string' },
} as const

const commands = ['new', 'profile', 'view', 'mcp']

function describeUnknown(command: string): string {
  const console = command.includes(':')
    ? ' Commands such as this are those of bin/console, in the folder of an application.'
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
    if (command !== 'new' || folder === undefined || others.length > 0) throw new CommandUsageError(help.trimEnd())
    const { tests = 'node' } = values
    if (!['node', 'tap'].includes(tests)) throw new CommandUsageError(`--tests is node or tap, not "${tests}".`)
    const target = path.resolve(directory, folder)
    const files = createApplication(target, findPackage(packageDirectory, target), tests === 'tap')
    stdout.write(describeNext(path.relative(directory, target), files.length))
    return exitCodes.success
  } catch (error) {
    stderr.write(`${readProperty(error, 'message')}\n`)
    return error instanceof CommandUsageError ? exitCodes.usage : exitCodes.failure
  }
}

function parseCommandLine(commandLine: readonly string[]) {
  try {
    return parseArgs({ args: [...commandLine], options, allowPositionals: true })
  } catch (error) {
    throw new CommandUsageError(`${readProperty(error, 'message')}\n\n${help.trimEnd()}`)
  }
}

function describeNext(folder: string, count: number): string {
  const commands = [...(folder === '' ? [] : [`cd ${quoteForShell(folder)}`]), 'npm install', 'npm start']
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

const skeletons = path.join(packageDirectory, 'bundles/maker/skeletons/application')
const ending = '.txt'

/** The packages of an application for its development. Their versions are those with which this package is tested. */
const tools = ['@types/node', 'typescript']

/** Lets `npx tap` run the tests: its compiler does not work with TypeScript 7, and Node runs the sources. */
const taprc = 'test-env:\n  - TAP_TYPE_STRIP_ONLY=1\n'

/**
 * Writes the files of a new application, whose tests are those of Node or of tap. Returns their paths.
 *
 * @throws CommandUsageError if the name of the folder is no name of a package
 * @throws Error if the folder contains files, or cannot be written
 */
export function createApplication(folder: string, dependency: string, hasTap = false): string[] {
  const name = path.basename(folder)
  checkName(name)
  checkEmpty(folder)
  const files = readdirSync(skeletons, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith(ending))
    .map(file => file.slice(0, -ending.length))
  for (const file of files) {
    const skeleton = readFileSync(path.join(skeletons, file + ending), 'utf8').replaceAll('acme-shop', name)
    const text = hasTap && file.endsWith('.test.ts') ? toTap(skeleton) : skeleton
    const target = path.join(folder, file)
    mkdirSync(path.dirname(target), { recursive: true })
    const mode = path.dirname(file) === 'bin' ? 0o755 : 0o644
    const content = file === 'package.json' ? completeManifest(text, dependency, hasTap) : text
    writeFileSync(target, content, { flag: 'wx', mode })
  }
  if (!hasTap) return files
  writeFileSync(path.join(folder, '.taprc'), taprc)
  return [...files, '.taprc']
}

function completeManifest(text: string, dependency: string, hasTap: boolean): string {
  const { dependencies, devDependencies, engines } = readManifest(packageDirectory)
  const ranges = Object.entries({ ...dependencies, ...devDependencies })
  const versions = ranges
    .filter(([name]) => tools.includes(name) || (hasTap && name === 'tap'))
    .map(([name, range]) => [name, `^${range.replace(/^\D+/, '')}`])
  const manifest: object = {
    ...(JSON.parse(text) as object),
    engines,
    dependencies: { [packageName]: dependency },
    devDependencies: Object.fromEntries(versions),
  }
  return `${JSON.stringify(manifest, undefined, 2)}\n`
}

/** The name of an application becomes the name of a package, which npm restricts. */
function checkName(name: string): void {
  if (/^[a-z\d][a-z\d._-]{0,99}$/.test(name) && ![packageName, 'node_modules', ...tools].includes(name)) return
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
