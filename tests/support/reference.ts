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
