import { randomBytes } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { CommandUsageError, type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { readProperty } from '../../../lib/stack/read-property.ts'
import { findRelatives } from '../insight/relatives.ts'
import { formatBytes } from '../profile/format.ts'
import type { DataForm, ExportKind } from '../profile/links.ts'
import { type CommandServices, findRecord, missing, tokenArgument } from './find-profile.ts'

/** Every command has `--json` and `--md`. */
const kinds: readonly { readonly name: ExportKind | DataForm; readonly description: string }[] = [
  { name: 'har', description: 'as an HTTP archive, for developer tools and tests' },
  { name: 'curl', description: 'as the command that asks again' },
  { name: 'fetch', description: 'as the JavaScript that asks again' },
  { name: 'html', description: 'as one HTML file with all panels, to keep or send' },
  { name: 'json', description: '' },
  { name: 'md', description: '' },
]

/** Creates the command that writes a record as the web's menu of exports does. */
export function createProfilerExport(services: CommandServices): ConsoleCommand {
  const { inspector, storage } = services
  return {
    name: 'profiler:export',
    description: 'Writes a record as HAR, curl, fetch(), HTML, JSON or Markdown',
    arguments: [tokenArgument(storage)],
    options: [
      ...kinds.filter(({ description }) => description !== ''),
      { name: 'out', value: 'file', description: 'the file to write, which nobody else may read; stdout without it' },
      { name: 'force', description: 'puts it in the place of a file that is there already' },
    ],
    examples: [
      { line: 'profiler:export latest --curl', purpose: 'tells the command that asks for the same again' },
      { line: 'profiler:export latest --html --out failed.html', purpose: 'keeps the latest request, with all panels' },
      { line: 'profiler:export 1a2b3c --har --out page.har --force', purpose: 'keeps a HAR in the place of another' },
    ],
    async run({ arguments: words, options }, output) {
      const kind = chooseKind(options)
      const { force, out } = options
      if (out === undefined && force !== undefined) throw new CommandUsageError('--force is for a file: add --out.')
      const token = String(words.token)
      const found = await findRecord(storage, token)
      if (found === undefined) {
        output.error(missing(token))
        return exitCodes.failure
      }
      const { writeRecord } = await import('../web/export-profile.ts')
      const findings = inspector.inspect(found.profile)
      const record = { ...found, findings, ...(await findRelatives(storage, found.profile)) }
      const text = await writeRecord(kind, record, services)
      if (out === undefined) {
        output.write(text)
        return exitCodes.success
      }
      const problem = await writeOut(out, text, force !== undefined)
      if (problem !== undefined) {
        output.error(problem)
        return exitCodes.failure
      }
      output.note(`Written to ${out}, ${formatBytes(Buffer.byteLength(text))}.`)
      return exitCodes.success
    },
  }
}

function chooseKind(options: Readonly<Record<string, string>>): ExportKind | DataForm {
  const given = kinds.map(({ name }) => name).filter(name => options[name] !== undefined)
  const [kind, other] = given
  const choice = `one of ${kinds.map(({ name }) => `--${name}`).join(', ')}`
  if (kind === undefined) throw new CommandUsageError(`What is it to be? Add ${choice}.`)
  if (other !== undefined) throw new CommandUsageError(`--${kind} and --${other} do not go together: choose ${choice}.`)
  return kind
}

/** For the owner alone: what is recorded is masked, and is nobody else's business all the same. */
const mode = 0o600

/** Gives what is wrong. A file that is to be replaced is there, old or new, at every moment. */
async function writeOut(file: string, text: string, isForced: boolean): Promise<string | undefined> {
  const written = isForced ? `${file}.${randomBytes(4).toString('hex')}` : file
  try {
    await writeFile(written, text, { mode, flag: 'wx' })
    if (isForced) await rename(written, file)
    return undefined
  } catch (error) {
    if (isForced) await rm(written, { force: true })
    const code = readProperty(error, 'code')
    return code === 'EEXIST' ? `${file} is there already: --force replaces it.` : `${file} cannot be written: ${code}.`
  }
}
