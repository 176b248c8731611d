import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readDecisions } from './decisions.ts'

/** Hashes the bytes of a recorded file with SHA-256. */
export function hashFile(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/** Finds those of the listed differences whose decision is no heading in `docs/decisions`. */
export function findUndecided(differences: readonly { readonly id: string; readonly decision: string }[]): string[] {
  const anchors = readDecisions().map(({ anchor }) => anchor)
  return differences.filter(({ decision }) => !anchors.includes(decision)).map(({ id }) => id)
}
