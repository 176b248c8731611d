import fc from 'fast-check'

/** The seed of the random tests of this process. The message of a test that fails has it: `FUZZ_SEED=<seed>` repeats the run. */
export const seed: number = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)

/** Some of the items, in their order. The seed decides which ones. */
export function sampleOf<item>(items: readonly item[], count: number): item[] {
  const length = Math.min(count, items.length)
  const [sample = []] = fc.sample(fc.subarray([...items], { minLength: length, maxLength: length }), {
    seed,
    numRuns: 1,
  })
  return sample
}
