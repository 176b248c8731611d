import { readFileSync } from 'node:fs'

/** Collects the skipped tests of TAP output, each with its reason. Those in `skips.md` are allowed. */
export function collectSkips() {
  const allowed = new Set(readFileSync(new URL('skips.md', import.meta.url), 'utf8').split('\n'))
  const skips = new Set()
  return {
    read(line) {
      const [, name, reason] = /^ *ok \d+ - (.*) # SKIP ?(.*)$/.exec(line) ?? []
      if (name !== undefined) skips.add(`| ${name} | ${reason} |`.replaceAll('\\#', '#'))
    },
    /** Prints all, and returns the number of those that are not allowed. */
    print(print) {
      for (const row of skips) print(`# ${allowed.has(row) ? 'skipped' : 'must not be skipped'}: ${row}`)
      return [...skips].filter(row => !allowed.has(row)).length
    },
  }
}
