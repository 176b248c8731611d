import { isProse } from './is-prose.ts'
import type { PlacedName } from './read-name.ts'

const lineBreak = /[ \t]*(?:[|>][-+]?\d?[ \t]*)?\r?\n/y
const line = /([ \t]*)(- )?([^\r\n]*)(?:\r?\n|$)/y

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
  for (;;) {
    line.lastIndex = at
    const [whole = '', indent = '', item, rest = ''] = line.exec(text) ?? []
    const isWithin = item === undefined ? indent.length > own : indent.length >= own
    if (whole === '' || !isWithin || rest === '' || (start === -1 && isForeign(text, name, at + indent.length))) break
    if (start === -1) start = at + indent.length + (item ?? '').length
    end = at + indent.length + (item ?? '').length + rest.length
    at += whole.length
  }
  return start === -1 ? undefined : { start, end }
}

/** A stack behind a message, a sentence, an empty value. */
function isForeign(text: string, name: PlacedName, at: number): boolean {
  return text.startsWith('at ', at) || isProse(text, name, at)
}
