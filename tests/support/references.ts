import assert from 'node:assert'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { CodedErrorClass } from 'sinfonietta'
import { listLibraries } from '#bundles/libraries/libraries.ts'
import { writeReference } from './api-report.ts'
import { settingOwners, writeSettings } from './declared-settings.ts'
import { docBefore, readSource } from './doc-comments.ts'
import { runDocumented } from './documented-console.ts'
import { code, fillBlocks, linkGuides, writeTable } from './markdown.ts'
import { writeProfileSchema } from './profile-schema.ts'
import { readEntryPoints } from './public-api.ts'
import { readRunTimePackages, writeInstalled, writeOptional } from './run-time-packages.ts'

/** The command that writes all references. */
export const command = 'npm run references'

/** A document whose tables come from the code. What is written by hand in it stays. */
interface Reference {
  readonly file: string
  write(before: string): string | Promise<string>
}

const references: readonly Reference[] = [
  { file: 'docs/reference/api.md', write: before => writeReference(before, readEntryPoints()) },
  {
    file: 'docs/reference/packages.md',
    write: before => fillBlocks(before, 'packages', ['installed', 'optional'], writePackages),
  },
  { file: 'docs/guides/database.md', write: before => fillBlocks(before, 'libraries', ['queries'], writeLibraries) },
  {
    file: 'docs/guides/profile-any-server.md',
    write: before =>
      fillBlocks(
        before,
        'libraries',
        ['functions', 'fields', 'calls', 'process', 'logs', 'units', 'mails'],
        writeLibraries,
      ),
  },
  { file: 'docs/reference/errors.md', write: writeErrors },
  {
    file: 'docs/reference/configuration.md',
    write: before => fillBlocks(before, 'settings', settingOwners, writeSettings),
  },
  { file: 'docs/reference/console.md', write: writeCommands },
  { file: 'docs/reference/findings.md', write: before => fillBlocks(before, 'limits', ['rules'], writeLimits) },
  { file: 'docs/reference/profile.schema.json', write: writeProfileSchema },
]

/** Writes the references anew. Returns the files that have changed. */
export async function updateReferences(): Promise<string[]> {
  const outdated = await findOutdated()
  for (const { file, text } of outdated) writeFileSync(file, text)
  return outdated.map(({ file }) => file)
}

/** The references that are not as the code is, with their new texts. */
export async function findOutdated(): Promise<{ readonly file: string; readonly text: string }[]> {
  const all = references.map(async ({ file, write }) => {
    const before = readFileSync(file, 'utf8')
    const text = await write(before)
    return text === before ? [] : [{ file, text }]
  })
  return (await Promise.all(all)).flat()
}

/** Each block names the files of its errors. */
function writeErrors(before: string): Promise<string> {
  const files = listSources().filter(file => / = *\n? *defineError\(/.test(readFileSync(file, 'utf8')))
  return fillBlocks(before, 'errors', files, async names => {
    const rows = await Promise.all(names.split(' ').map(readErrors))
    return writeTable(['Code', 'Status', 'When', 'What to do'], rows.flat())
  })
}

/**
 * The rows of the errors of a file. The first sentence of a doc comment says when the error
 * occurs, the others what to do.
 */
async function readErrors(file: string): Promise<string[][]> {
  const source = readSource(file)
  // Compiled, this file lies in dist/tests/support.
  const module = await import(path.join(import.meta.dirname, '../..', file.replace(/\.ts$/, '.js')))
  return source.program.body.flatMap(statement => {
    const text = source.text.slice(statement.start, statement.end)
    const [, name = ''] = /^export const (\w+): CodedErrorClass</.exec(text) ?? []
    if (name === '') return []
    const { status } = module[name] as CodedErrorClass<unknown[]>
    const [, when = '', remedy = ''] =
      /^(.+?\.)(?:\s+(?=[A-Z`])(.*))?$/.exec(linkGuides(docBefore(source, statement))) ?? []
    assert(remedy, `The doc comment of ${name} says when it occurs, and what to do.`)
    return [[code(name), String(status), when, remedy]]
  })
}

/** Commands whose options are also those of another command: the reference lists them once. */
const optionsOf: Readonly<Record<string, string>> = {
  'profiler:stats': 'profiler:list',
  'profiler:verify': 'profiler:replay',
}

/**
 * Each block has the help of a command, without its examples and the options that all commands, or another one, have.
 */
async function writeCommands(before: string): Promise<string> {
  const { stdout } = await runDocumented('--help')
  const commands = Array.from(stdout.matchAll(/^ {2}([a-z]+(?::[a-z-]+)?) +[A-Z]/gm), ([, name]) => String(name))
  return fillBlocks(before, 'command', commands, async name => {
    const other = optionsOf[name]
    const listed = other === undefined ? [] : await readHelp(other)
    const own = (await readHelp(name)).filter(part => !part.startsWith('  --') || !listed.includes(part))
    return `\`\`\`text\n${own.join('\n').trim()}\n\`\`\``
  })
}

/** The help of a command, a part for each line; an option is one part. */
async function readHelp(name: string): Promise<string[]> {
  const { stdout } = await runDocumented(`${name} --help`)
  const help = stdout.replaceAll(/^ {2}(?:--json|--md|--env <name>|-h, --help) .*\n(?: {10,}.*\n)*/gm, '')
  const [purpose = ''] = help.replace('\nOptions:\n\n', '\n').split('\nExamples:\n')
  return purpose.split(/\n(?! {10,})/)
}

/**
 * The limits of the rules: constants with a doc comment such as ``Limit of `many-rows`: rows of a query. Its reason.``
 */
function writeLimits(): string {
  const limit = /\/\*\* Limit of ([^:]+): ([^*]+?)\. [^*]+ \*\/\s*(?:(?:export )?const )?\w+(?: =|:) ([\d_.]+)/g
  const rows = listSources().flatMap(file => {
    const text = readFileSync(file, 'utf8').replaceAll(/\/\*\*.*?\*\//gs, toLine)
    const found = Array.from(text.matchAll(limit), ([, rules = '', what = '', value = '']) => [
      rules.replaceAll(/`([\w-]+)`/g, '[`$1`](#$1)'),
      `${Number(value.replaceAll('_', '')).toLocaleString('en')} ${what}`,
    ])
    assert.equal(
      found.length,
      text.split('/** Limit of `').length - 1,
      `${file}: "Limit of \`rule\`: what. The reason."`,
    )
    return found
  })
  return writeTable(['Rule', 'Limit'], rows.toSorted())
}

/** Writes a doc comment of several lines in one. */
const toLine = (comment: string) => comment.replaceAll(/\s*\n\s*\*(?!\/)\s*/g, ' ').replace(/\s*\*\/$/, ' */')

/** A table of packages. */
const writePackages = (kind: string) => (kind === 'optional' ? writeOptional() : writeInstalled(readRunTimePackages()))

/** The libraries that report something, as the list of them says. */
async function writeLibraries(reported: string): Promise<string> {
  const rows = (await listLibraries())
    .filter(({ reports }) => reported.split(' ').includes(reports))
    .map(({ from = '–', name, node = '20', notSeen = '', seenBy }) => [name, from, node, seenBy, notSeen])
  return writeTable(['Library', 'From version', 'From Node', 'Seen by', 'Not seen'], rows)
}

/** The sources of the product. */
function listSources(): string[] {
  return ['lib', 'kernel', 'bundles', 'bin'].flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => path.join(folder, file)),
  )
}
