import { isProse } from './is-prose.ts'
import type { PlacedName } from './read-name.ts'

const lineBreak = /[ \t]*(?:[|>][-+]?\d?[ \t]*)?(?:\r\n?|\n)/y

/**
 * Finds what belongs to a name of YAML by its indentation: a list, a text of several lines, other names. `undefined` when
 * the value does not begin on the next line.
 */
export function findBlock(text: string, name: PlacedName, from: number): { start: number; end: number } | undefined {
  lineBreak.lastIndex = from
  if (name.position !== 'line' || name.quote !== '' || !lineBreak.test(text)) return undefined
  let at = lineBreak.lastIndex
  const own = name.start - Math.max(text.lastIndexOf('\n', name.start), text.lastIndexOf('\r', name.start)) - 1
  let start = -1
  let end = -1
  while (at < text.length) {
    const lineEnd = endOfLine(text, at)
    const indent = text.slice(at, lineEnd).search(/[^ \t]|$/)
    const isItem = text.startsWith('- ', at + indent)
    const isWithin = (isItem ? indent >= own : indent > own) && at + indent < lineEnd
    if (!isWithin || (start === -1 && isForeign(text, name, at + indent))) break
    if (start === -1) start = at + indent + (isItem ? 2 : 0)
    end = lineEnd
    at = lineEnd + (text.startsWith('\r\n', lineEnd) ? 2 : 1)
  }
  return start === -1 ? undefined : { start, end }
}

function endOfLine(text: string, from: number): number {
  const length = text.slice(from).search(/[\r\n]|$/)
  return from + length
}

/** A stack behind a message, a sentence, an empty value. */
function isForeign(text: string, name: PlacedName, at: number): boolean {
  return text.startsWith('at ', at) || isProse(text, name, at)
}
