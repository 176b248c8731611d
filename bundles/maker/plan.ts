import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type CommandInput, type ExitCode, exitCodes } from '../../kernel/contracts/console-command.ts'
import type { Block } from '../../lib/console/document.ts'
import type { Output } from '../../lib/console/output.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import { toTap } from './import-order.ts'
import type { FileChange } from './source-edits.ts'

/** The files that a generator writes. Paths are relative to the application's directory. */
interface Plan {
  readonly files: readonly { readonly path: string; readonly text: string }[]
  readonly changed: string
  readonly change: FileChange
  /** The path of the test, which is one of the files. */
  readonly test: string
  /** A sentence on how to see the result. */
  readonly next: string
}

/**
 * Writes the files of a plan, or shows them, and the changes that are left to the user. Existing
 * files are kept. In an application with tap, the test is one of tap.
 */
export function carryOut(made: Plan, directory: string, { options }: CommandInput, output: Output): ExitCode {
  const toOwn = (file: Plan['files'][number]) => (file.path === made.test ? { ...file, text: toTap(file.text) } : file)
  const plan = hasTap(directory) ? { ...made, files: made.files.map(toOwn) } : made
  const isDryRun = options['dry-run'] !== undefined
  const there = plan.files.map(file => file.path).filter(file => existsSync(path.join(directory, file)))
  if (there.length > 0) {
    output.error(`${there.join(' and ')} ${there.length === 1 ? 'is' : 'are'} there already. Nothing was written.`)
    return exitCodes.failure
  }
  const problem = isDryRun ? undefined : write(plan, directory)
  if (problem !== undefined) {
    output.error(problem)
    return exitCodes.failure
  }
  const { change, changed, files, next, test } = plan
  const actions = [
    ...files.map(({ path }) => ({ path, action: 'created' })),
    ...(change.text === undefined ? [] : [{ path: changed, action: 'changed' }]),
  ]
  const blocks: Block[] = [
    { kind: 'fields', fields: actions.map(({ action, path }) => [isDryRun ? `to be ${action}` : action, path]) },
    ...(isDryRun ? files.flatMap(showFile) : []),
    ...(isDryRun && change.text !== undefined ? showFile({ path: changed, text: toAdded(change.lines) }) : []),
    ...(change.text === undefined ? showByHand(plan) : []),
  ]
  const byHand = change.text === undefined ? [{ path: changed, lines: change.lines }] : []
  const texts = isDryRun ? { texts: Object.fromEntries(files.map(({ path, text }) => [path, text])) } : {}
  output.print({ blocks, json: { isDryRun, files: actions, byHand, test, next, ...texts } })
  if (!isDryRun && output.format === 'text') output.note(`\nbin/test ${test} runs its test.\n${next}`)
  return exitCodes.success
}

/** Whether the application names tap in its package.json. */
function hasTap(directory: string): boolean {
  const file = path.join(directory, 'package.json')
  if (!existsSync(file)) return false
  const { dependencies, devDependencies } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object | undefined>
  return 'tap' in { ...dependencies, ...devDependencies }
}

function write({ change, changed, files }: Plan, directory: string): string | undefined {
  for (const { path: file, text } of [...files, { path: changed, text: change.text }]) {
    const target = path.join(directory, file)
    try {
      mkdirSync(path.dirname(target), { recursive: true })
      if (text !== undefined) writeFileSync(target, text, { flag: file === changed ? 'w' : 'wx' })
    } catch (error) {
      return `${file} cannot be written: ${readProperty(error, 'code')}.`
    }
  }
  return undefined
}

function showFile({ path: file, text }: { readonly path: string; readonly text: string }): Block[] {
  return [
    { kind: 'title', text: file },
    { kind: 'code', language: path.extname(file).slice(1), text: text.trimEnd() },
  ]
}

function toAdded(lines: readonly string[]): string {
  return lines.map(line => `+ ${line}`).join('\n')
}

function showByHand({ change, changed }: Plan): Block[] {
  return [
    { kind: 'text', text: `${changed} looks different from what is expected. Add to it:`, tone: 'warning' },
    { kind: 'code', language: 'ts', text: change.lines.join('\n') },
  ]
}
