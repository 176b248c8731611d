import { codeOf } from './code-of.ts'

/** What the task gives; `undefined` when it fails with one of these codes of the operating system. */
export async function ignoring<result>(
  codes: readonly string[],
  task: () => Promise<result>,
): Promise<result | undefined> {
  try {
    return await task()
  } catch (error) {
    if (codes.includes(codeOf(error))) return undefined
    throw error
  }
}
