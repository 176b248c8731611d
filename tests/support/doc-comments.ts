import { readFileSync } from 'node:fs'
import type { AnyNode } from 'acorn'
import { parseSource, type Source } from './syntax.ts'

/** Parses a source file of this package. */
export function readSource(file: string): Source {
  const source = parseSource(readFileSync(file, 'utf8'))
  if (source === undefined) throw new Error(`${file} has a syntax error.`)
  return source
}

/** The text of the doc comment right before a node, as one line; empty without one. */
export function docBefore({ comments, text }: Source, { start }: AnyNode): string {
  const comment = comments.findLast(({ end }) => end <= start && !/\S/.test(text.slice(end, start)))
  if (!comment?.value.startsWith('*')) return ''
  return comment.value
    .replace(/^\s*\*+ ?/gm, '')
    .replace(/\s+/g, ' ')
    .trim()
}
