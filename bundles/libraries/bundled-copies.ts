import { readFileSync, statSync } from 'node:fs'
import { noteUnseen } from '../../kernel/contracts/unseen-libraries.ts'
import { type Library, onOwnLoad } from './library.ts'

/** The texts of the libraries of which no copy was noticed. */
const texts = new Map<string, Library>()

/** Bytes of a file that may have a copy of a library. */
const leastSize = 10_000

/**
 * Notes the libraries that are seen only outside of bundles, when the application loads a file of
 * CommonJS that has one of their texts: a bundler, such as that of Next.js, has put a copy into it.
 */
export function noteBundledCopies(libraries: readonly Library[]): void {
  for (const library of libraries) if (library.bundledText !== undefined) texts.set(library.bundledText, library)
  onOwnLoad(search)
}

function search(file: string): void {
  if (texts.size === 0 || !/\.[cm]?[jt]s$/.test(file)) return
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) < leastSize) return
  const code = readFileSync(file)
  for (const [text, { isCache = false, name }] of texts) {
    if (!code.includes(text)) continue
    texts.delete(text)
    noteUnseen({ name, version: '', first: '', work: isCache ? 'commands' : 'queries' })
  }
}
