import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const list = new URL('skips.md', import.meta.url)

/**
 * Prints the TAP output of a run, and behind it the skipped tests, each with its reason. Resolves
 * with the number of those that are not in `skips.md`.
 */
export async function printSkips(output, print = line => process.stdout.write(`${line}\n`)) {
  const allowed = new Set(readFileSync(list, 'utf8').split('\n'))
  const skips = new Set()
  for await (const line of createInterface({ input: output })) {
    print(line)
    const [, name, reason] = /^ *ok \d+ - (.*) # SKIP ?(.*)$/.exec(line) ?? []
    if (name !== undefined) skips.add(`| ${name} | ${reason} |`.replaceAll('\\#', '#'))
  }
  const others = [...skips].filter(row => !allowed.has(row))
  for (const row of skips) print(`# ${allowed.has(row) ? 'skipped' : 'must not be skipped'}: ${row}`)
  return others.length
}
