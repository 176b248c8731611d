import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { defaultChanged } from './changes.ts'
import { lookLimit, runLimit, tryMutants, type Verdict } from './mutants.ts'

// A program: changes lines of the product, and lists the changes that no test notices.

const least = 0.9

const { values } = parseArgs({
  options: {
    since: { type: 'string' },
    files: { type: 'string' },
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
  },
})

// The copy of the project is removed at the exit.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const print = (line: string) => process.stdout.write(`${line}\n`)
const verdicts: Verdict[] = []
/** Defaults of `??` that only a type demands. */
let needless = 0

function report(verdict: Verdict): void {
  const { isCaught, mutant, tests } = verdict
  const { before, file, kind, line, text } = mutant
  if (tests === 0 && kind === defaultChanged) needless++
  else verdicts.push(verdict)
  if (!isCaught && verdicts.at(-1) === verdict) {
    const source = readFileSync(file, 'utf8').split('\n')[line - 1] ?? ''
    print(
      `${file}:${line} ${kind}: ${shorten(before)} → ${shorten(text) || 'nothing'} (${tests} test files execute it)`,
    )
    print(`    ${source.trim()}`)
  }
  if (verdicts.length % 10 === 0) print(`# ${verdicts.filter(each => each.isCaught).length} of ${verdicts.length}`)
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}

/** `lib`, or a bundle. */
function roomOf({ mutant: { file } }: Verdict): string {
  return file.split('/', file.startsWith('bundles/') ? 2 : 1).join('/')
}

const { files, since } = values
const { failing } = await tryMutants(
  process.cwd(),
  { since, files, count: Number(values.count), seed: Number(values.seed) },
  report,
)
for (const room of [...new Set(verdicts.map(roomOf))].sort()) {
  const own = verdicts.filter(each => roomOf(each) === room)
  print(`# ${room}: ${own.filter(({ isCaught }) => isCaught).length} of ${own.length}`)
}
const caught = verdicts.filter(({ isCaught }) => isCaught).length
const share = verdicts.length === 0 ? 1 : caught / verdicts.length
print(
  `# ${caught} of ${verdicts.length} mutants are caught, ${(share * 100).toFixed(1)} % (at least ${least * 100} %).`,
)
print(`# ${needless} defaults of ?? that no test executes are not counted: a type demands them.`)
for (const test of failing) print(`# ${test} fails without a change, and was left out.`)
print(`# For each, the ${lookLimit} nearest test files were looked at, and ${runLimit} that execute it ran at most.`)
if (share < least) process.exitCode = 1
