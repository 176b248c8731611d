import { readFileSync } from 'node:fs'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { makerBundle } from 'sinfonietta/console'
import type { Test } from 'tap'
import { runInTerminal } from '#tests/support/fake-terminal.ts'
import { runProcess, withVariables } from '#tests/support/start-process.ts'

/** Runs a program as if no test ran it. */
export async function execute(
  t: Test,
  directory: string,
  ...words: string[]
): Promise<{ code: unknown; text: string }> {
  const command = withVariables({}, process.execPath, ...words)
  const { code, stderr, stdout } = await runProcess(t, command, { cwd: directory })
  return { code, text: stdout + stderr }
}

/** The commands of the README. */
export const documented: readonly string[] =
  readFileSync('README.md', 'utf8').match(/(?<=^bin\/console )make:.*?(?= *(?:#|$))/gm) ?? []

/** The shortest names, and the longest: these are only compiled. */
export const others: readonly string[] = [
  ['a', 'b', 'kernel.controller_arguments'],
  ['photographs-of-all-old-starlet', 'photographs-of-all-new-starlet', 'kernel.exception'],
].flatMap(([bundle, name, event]) => [
  `make:bundle ${bundle}`,
  `make:page ${name} --bundle ${bundle}`,
  `make:listener ${name} ${event} --bundle ${bundle}`,
  `make:collector ${name} --bundle ${bundle}`,
])

/** Runs generators in a directory. Returns the tests, and all sources, that they have written or changed. */
export async function generate(
  t: Test,
  directory: string,
  bundle: Bundle,
  lines: readonly string[],
): Promise<{ tests: string[]; sources: string[] }> {
  const tests: string[] = []
  const sources = new Set<string>()
  for (const line of lines) {
    const load = async () => [createFrameworkBundle(), bundle, makerBundle]
    const { code, stdout } = await runInTerminal(`${line} --json`, { load, directory })
    t.equal(code, 0, line)
    const { byHand, files, test } = JSON.parse(stdout)
    for (const { path } of files) if (path.endsWith('.ts')) sources.add(path)
    t.strictSame(byHand, [], 'it is registered')
    tests.push(test)
  }
  return { tests, sources: [...sources] }
}
