import { randomBytes } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { CommandUsageError, type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { readProperty } from '../../../lib/stack/read-property.ts'
import { showProfile } from '../insight/show-profile.ts'
import { formatBytes } from '../profile/format.ts'
import type { DataForm, ExportKind } from '../profile/links.ts'
import { type CommandServices, findRecord, missing, tokenArgument } from './find-profile.ts'

/** Every command has `--json` and `--md`. */
const kinds: readonly { readonly name: ExportKind | DataForm; readonly description: string }[] = [
  { name: 'har', description: 'as an HTTP archive, for developer tools and tests' },
  { name: 'curl', description: 'as a curl command that repeats the request' },
  { name: 'fetch', description: 'as JavaScript that repeats the request' },
  { name: 'trace', description: 'as a trace file with the timeline, for Perfetto' },
  { name: 'cpuprofile', description: 'as a CPU profile, for developer tools and speedscope' },
  { name: 'html', description: 'as one HTML file with all panels' },
  { name: 'json', description: '' },
  { name: 'md', description: '' },
]

/** Creates the command that exports a profile, as the page of the profile does. */
export function createProfilerExport(services: CommandServices): ConsoleCommand {
  const { inspector, storage } = services
  return {
    name: 'profiler:export',
    description: 'Exports a profile as HAR, curl, fetch(), trace, CPU profile, HTML, JSON or Markdown',
    arguments: [tokenArgument(storage)],
    options: [
      ...kinds.filter(({ description }) => description !== ''),
      { name: 'out', value: 'file', description: 'the file to write, readable by its owner only; by default stdout' },
      { name: 'force', description: 'replaces an existing file' },
    ],
    examples: [
      { line: 'profiler:export latest --curl', purpose: 'writes a curl command that repeats the request' },
      { line: 'profiler:export latest --html --out failed.html', purpose: 'saves the latest request with all panels' },
      { line: 'profiler:export 1a2b3c --har --out page.har --force', purpose: 'replaces a HAR file' },
    ],
    async run({ arguments: words, options }, output) {
      const kind = chooseKind(options)
      const { force, out } = options
      if (out === undefined && force !== undefined) throw new CommandUsageError('--force needs a file: add --out.')
      const token = words.token ?? ''
      const found = await findRecord(storage, token)
      if (found === undefined) {
        output.error(missing(token))
        return exitCodes.failure
      }
      const { formatProfile } = await import('../web/export-profile.ts')
      const record = await showProfile(found, storage, inspector)
      const text = await formatProfile(kind, record, services)
      if (text === undefined) {
        output.error(`The CPU was not sampled during the request ${found.profile.summary.token}.`)
        return exitCodes.failure
      }
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
  if (kind === undefined) throw new CommandUsageError(`The format is missing: add ${choice}.`)
  if (other !== undefined) throw new CommandUsageError(`--${kind} and --${other} do not go together: choose ${choice}.`)
  return kind
}

/** Readable by the owner only: a profile is masked, and is private nevertheless. */
const mode = 0o600

/** Returns the problem, if any. A file that is replaced exists at every moment, as the old or the new one. */
async function writeOut(file: string, text: string, isForced: boolean): Promise<string | undefined> {
  const written = isForced ? `${file}.${randomBytes(4).toString('hex')}` : file
  try {
    await writeFile(written, text, { mode, flag: 'wx' })
    if (isForced) await rename(written, file)
    return undefined
  } catch (error) {
    if (isForced) await rm(written, { force: true })
    const code = readProperty(error, 'code')
    return code === 'EEXIST' ? `${file} exists already: --force replaces it.` : `${file} cannot be written: ${code}.`
  }
}
