/** A generated test for tap instead of the test runner of Node. */
export function toTap(text: string): string {
  return orderImports(text.replace("'node:test'", "'tap'").replaceAll('t.after(', 't.teardown('))
}

/** An import of a skeleton, which is one line. */
const importLine = /^import (?:.* from )?'(.*)'$/gm

/** Sorts the imports of a generated text, and the names in each of them. */
export function orderImports(text: string): string {
  const sorted = [...text.matchAll(importLine)]
    .toSorted(([, one = ''], [, other = '']) => compareFiles(one, other))
    .map(([line]) => line.replace(/(?<=\{ ).*(?= \})/, sortNames))
  return text.replace(importLine, () => sorted.shift() ?? '')
}

function sortNames(list: string): string {
  const nameOf = (part: string) => part.replace(/^type /, '').toLowerCase()
  return list
    .split(', ')
    .toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
    .join(', ')
}

/** The order of Biome: Node's modules, packages, files; of files, the most distant first. */
export function compareFiles(one: string, other: string): number {
  const [first, second] = [toSortable(one), toSortable(other)]
  return rankOf(first) - rankOf(second) || Number(first > second) - Number(first < second)
}

function rankOf(file: string): number {
  if (file.startsWith('.')) return 2
  return file.startsWith('node:') ? 0 : 1
}

/** Numbers within texts count as numbers. */
function toSortable(text: string): string {
  return text.replace(/\d+/g, number => number.padStart(10, '0'))
}
