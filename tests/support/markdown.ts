import { deepEqual } from 'node:assert'
import { readFileSync } from 'node:fs'

/** The sections of a document by their titles, with the title's own marks (`kernel/`, not `` `kernel/` ``). */
export function readSections(file: string): ReadonlyMap<string, string> {
  const sections = readFileSync(file, 'utf8').split(/^## /m).slice(1)
  return new Map(sections.map(section => [String(section.split('\n', 1)[0]), section]))
}

/** The rows of the tables in a text, cell by cell and without their heads. */
export function readRows(markdown: string): string[][] {
  const isRule = (line: string | undefined) => line !== undefined && /^\|[ :|-]+\|$/.test(line)
  const lines = markdown.split('\n')
  return lines
    .filter((line, index) => line.startsWith('|') && !isRule(line) && !isRule(lines[index + 1]))
    .map(line => line.slice(1, -1).split('|').map(unquote))
}

/** A cell that is code and nothing else, without its marks. */
function unquote(cell: string): string {
  return cell.trim().replace(/^`([^`]*)`$/, '$1')
}

/**
 * Writes the blocks of one kind anew: they are between `<!-- begin: kind name -->` and
 * `<!-- end -->`. Each of the names is in one block; a block may have several.
 */
export async function fillBlocks(
  markdown: string,
  kind: string,
  names: readonly string[],
  write: (name: string) => string | Promise<string>,
): Promise<string> {
  const block = new RegExp(`(?<=^<!-- begin: ${kind} (.*) -->\n)[^]*?(?=^<!-- end -->$)`, 'gm')
  const lists = Array.from(markdown.matchAll(block), ([, list]) => String(list))
  deepEqual(lists.flatMap(list => list.split(' ')).toSorted(), names.toSorted(), `the blocks "begin: ${kind} …"`)
  const written: string[] = []
  for (const list of lists) written.push(await write(list))
  return markdown.replace(block, () => `\n${written.shift()}\n\n`)
}

/** Writes a table. */
export function writeTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map(cell => cell.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`.replaceAll(
      '|  |',
      '| |',
    )
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** A text as code; empty without one. */
export function code(text: string): string {
  return text && `\`${text}\``
}

/** Code refers to guides by their paths: `docs/guides/protection.md#cors`. */
export function linkGuides(text: string): string {
  return text.replaceAll(/\bdocs\/(guides\/[\w-]+\.md(?:#[\w-]+)?)/g, '[the guide](../$1)')
}
