import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'

/** Hashes the bytes of a recorded file with SHA-256. */
export function hashFile(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/** Finds those of the listed differences whose decision is no file in `docs/decisions`. */
export function findUndecided(differences: readonly { readonly id: string; readonly decision: string }[]): string[] {
  return differences.filter(({ decision }) => !existsSync(`docs/decisions/${decision}.md`)).map(({ id }) => id)
}
