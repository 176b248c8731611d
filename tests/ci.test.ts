import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { t } from 'tap'
import { runProcess } from './support/start-process.ts'

/** The rows of a table of a document in `.ci/`. */
function readRows(name: string): string[][] {
  const lines = readFileSync(`.ci/${name}`, 'utf8').split('\n')
  const rows = lines.filter(line => line.startsWith('| ')).slice(2)
  return rows.map(row => row.slice(2, -2).split(' | '))
}

const files = readdirSync('tests', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
const sources = files.map(file => readFileSync(path.join('tests', file), 'utf8').replaceAll("\\'", "'")).join('\n')

t.test('only a test with its name and reason in .ci/skips.md may be skipped', async t => {
  const [[allowed, reason] = []] = readRows('skips.md')
  const code = `
    import { t } from 'tap'
    t.test('outer', async t => {
      t.test(${JSON.stringify(allowed)}, { skip: ${JSON.stringify(reason)} }, async () => {})
      t.test(${JSON.stringify(allowed)}, { skip: 'another # reason' }, async () => {})
    })
    t.test('another', { skip: ${JSON.stringify(reason)} }, async () => {})
    t.test('without a reason', { skip: true }, async () => {})
    t.test('not ready', { todo: true }, async () => {})
    t.pass('runs')
  `
  const { collectSkips } = (await import(pathToFileURL('.ci/skips.js').href)) as {
    collectSkips(): { read(line: string): void; print(print: (line: string) => void): number }
  }
  const env = { ...process.env, TAP_CHILD_ID: undefined }
  const { stdout } = await runProcess(t, [process.execPath, '--input-type=module', '--eval', code], { env })
  const lines: string[] = []
  const skips = collectSkips()
  for (const line of stdout.split('\n')) skips.read(line)
  t.equal(
    skips.print(line => lines.push(line)),
    3,
  )
  t.strictSame(lines, [
    `# skipped: | ${allowed} | ${reason} |`,
    `# must not be skipped: | ${allowed} | another # reason |`,
    `# must not be skipped: | another | ${reason} |`,
    '# must not be skipped: | without a reason |  |',
  ])
})

t.test('the lists of .ci/ name tests that exist', async t => {
  const missing = [...readRows('skips.md').flat(), ...readRows('flaky.md').map(([, test = '']) => test)].filter(
    text => !sources.includes(text),
  )
  t.strictSame(missing, [])
})
