import { readFileSync } from 'node:fs'
import { t } from 'tap'
import { runDocumented, withoutPlaces } from './support/documented-console.ts'

const reference = readFileSync('docs/reference/console.md', 'utf8')

t.test('the examples of the reference print the documented output', async t => {
  const blocks = [...reference.matchAll(/^```console\n([\s\S]*?)^```$/gm)].flatMap(([, block]) =>
    String(block)
      .split(/^\$ bin\/console /m)
      .slice(1),
  )
  t.ok(blocks.length > 10)
  for (const block of blocks) {
    const [line = '', ...output] = block.split('\n')
    const { stderr, stdout } = await runDocumented(line)
    const documented = output.join('\n').trimEnd()
    // A line of … stands for any number of lines.
    const [beginning = '', end] = withoutPlaces(documented).split('\n…', 2)
    const actual = withoutPlaces(stdout + stderr).trimEnd()
    t.ok(
      end === undefined ? actual === beginning : actual.startsWith(beginning) && actual.endsWith(end),
      `${line}\n${actual}`,
    )
  }
})

t.test('the examples of the help are valid command lines', async t => {
  const home = process.cwd()
  // Some write files.
  process.chdir(t.testdir())
  t.teardown(() => process.chdir(home))
  const { stdout } = await runDocumented('--help')
  for (const [, name] of stdout.matchAll(/^ {2}([a-z]+:[a-z-]+) +[A-Z]/gm)) {
    const help = (await runDocumented(`${name} --help`)).stdout
    const lines = [...help.matchAll(/^ {2}bin\/console (.+)$/gm)].map(([, line]) => String(line))
    t.ok(lines.length > 0, `${name} has examples`)
    for (const line of lines) t.not((await runDocumented(line)).code, 64, line)
  }
})
