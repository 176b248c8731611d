import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import type { Test } from 'tap'
import { runProcess } from './start-process.ts'

/**
 * The seed of the random tests of this process. The message of a test that fails has it:
 * `FUZZ_SEED=<seed>` repeats the run.
 */
export const seed: number = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)

/** Whether this is a proof, which takes whole samples: `SAMPLES=whole` runs a file of tests as its proof does. */
const isWhole = process.env.SAMPLES === 'whole'

/**
 * Any character, for `fc.string({ unit })`, but for halves of pairs. The unit `binary` of fast-check is the same, and
 * lists all million of them first, which takes a second of CPU time.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10_f7ff }).map(
  index => String.fromCodePoint(index < 0xd800 ? index : index + 0x800),
  text => {
    const point = String(text).codePointAt(0) ?? Number.NaN
    if (String.fromCodePoint(point) !== text) throw new TypeError('It is not one character.')
    return point < 0xd800 ? point : point - 0x800
  },
)

/** Some of the items, in their order. The seed decides which ones. */
export function sampleOf<item>(items: readonly item[], count: number): item[] {
  const length = Math.min(count, items.length)
  const [sample = []] = fc.sample(fc.subarray([...items], { minLength: length, maxLength: length }), {
    seed,
    numRuns: 1,
  })
  return sample
}

/** Some of the items in `npm test`, all of them in the proof of the file. */
export function provenSample<item>(items: readonly item[], count: number): readonly item[] {
  return isWhole ? items : sampleOf(items, count)
}

/** How often a property is checked in the proof of its file: `npm test` checks it a tenth as often. */
export function provenRuns(count: number): number {
  return isWhole ? count : Math.ceil(count / 10)
}

/** Runs the tests that take samples with whole samples. */
export async function proveSamples(t: Test): Promise<void> {
  const tests = path.join(import.meta.dirname, '..')
  const programs = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter(file => /^(?!areas).*(?<!\.proof)\.test\.js$/.test(file))
    .filter(file => /\bproven(?:Sample|Runs)\(/.test(readFileSync(path.join(tests, file), 'utf8')))
  t.not(programs.length, 0)
  const preload = new URL('end-tests.js', import.meta.url)
  // Below another run of tap, a test would leave out its totals.
  const env = { ...process.env, SAMPLES: 'whole', TAP_CHILD_ID: undefined }
  for (const program of programs) {
    const command = [process.execPath, `--import=${preload}`, '--enable-source-maps', path.join(tests, program)]
    const { code, stderr, stdout } = await runProcess(t, command, { env })
    t.equal(code, 0, program, { stderr, failures: stdout.match(/^ *not ok[\s\S]*?^ *\.\.\.$/gm) ?? [] })
  }
}
