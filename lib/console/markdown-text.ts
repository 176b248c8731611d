import { escapeControls } from '../text/escape-controls.ts'
import { formatList } from './markdown-list.ts'
import type { Paint, Tone } from './paint.ts'
import { type MarkdownBlock, type MarkdownSpan, parseMarkdown } from './parse-markdown.ts'
import { displayWidth, fitWidth, wrap } from './text-width.ts'

/** Writes Markdown for a terminal of so many columns; `tone` is that of its title. */
export function formatMarkdownText(text: string, paint: Paint, width?: number, tone: Tone = 'strong'): string {
  const safe = text.split('\n').map(line => escapeControls(line.replaceAll('\t', '  ')))
  const parts = parseMarkdown(safe.join('\n')).map((block, index, all) => {
    const before = all[index - 1]
    const isBelowHeading = before?.kind === 'heading' && before.level > 1
    return (index === 0 || isBelowHeading ? '' : '\n') + formatBlock(block, paint, width, tone)
  })
  return parts.join('')
}

function formatBlock(block: MarkdownBlock, paint: Paint, width: number | undefined, tone: Tone): string {
  switch (block.kind) {
    case 'heading':
      return formatHeading(block.level, joinLine(block.line), paint, width, tone)
    case 'paragraph':
      return `${wrap([{ text: joinLine(block.line), tone: 'plain' }], { indent: 0, paint, width })}\n`
    case 'list':
      return formatList(block.items, paint, width)
    case 'code':
      return block.lines.map(line => `  ${formatCode(line, block.language, paint, width)}\n`).join('')
  }
}

/** A line goes from the name of a part to the edge. */
const usualWidth = 80
const widest = 120

function formatHeading(level: number, text: string, paint: Paint, width: number | undefined, tone: Tone): string {
  if (level !== 2) return `${wrap([{ text, tone: level === 1 ? tone : 'strong' }], { indent: 0, paint, width })}\n`
  const left = Math.min(width ?? usualWidth, widest) - displayWidth(text) - 1
  return `${paint('strong', text)} ${paint('muted', '─'.repeat(Math.max(1, left)))}\n`
}

/** A long line of a source is in its file; of other texts nothing is cut. */
function formatCode(line: string, language: string, paint: Paint, width?: number): string {
  if (language !== 'ts') return wrap([{ text: line, tone: 'plain' }], { indent: 2, paint, width })
  const text = width === undefined ? line : fitWidth(line, width - 2)
  return paint(line.startsWith('>') ? 'error' : 'plain', text)
}

function joinLine(line: readonly MarkdownSpan[]): string {
  return line.map(({ text }) => text).join('')
}
