/** A piece of a line: text, or what stood in a code span. */
export interface MarkdownSpan {
  readonly text: string
  readonly isCode: boolean
}

/** A line of a list; depth 0 lies in no other. */
export interface MarkdownItem {
  readonly depth: number
  readonly line: readonly MarkdownSpan[]
}

/** A part of a text. */
export type MarkdownBlock =
  | { readonly kind: 'heading'; readonly level: number; readonly line: readonly MarkdownSpan[] }
  | { readonly kind: 'paragraph'; readonly line: readonly MarkdownSpan[] }
  | { readonly kind: 'list'; readonly items: readonly MarkdownItem[] }
  | { readonly kind: 'code'; readonly language: string; readonly lines: readonly string[] }

/**
 * Reads Markdown as it is written here (CommonMark 0.31): headings, paragraphs of one line, lists within lists, fenced
 * code, and code spans. Everything else is text.
 */
export function parseMarkdown(text: string): MarkdownBlock[] {
  const blocks: MarkdownBlock[] = []
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index++) {
    const line = String(lines[index])
    const [, fence, language = ''] = /^(`{3,})(\w*)$/.exec(line) ?? []
    if (fence !== undefined) {
      const end = lines.indexOf(fence, index + 1)
      const last = end === -1 ? lines.length : end
      blocks.push({ kind: 'code', language, lines: lines.slice(index + 1, last) })
      index = last
    } else if (isItem(line)) {
      const items: MarkdownItem[] = []
      for (; isItem(lines[index] ?? ''); index++) items.push(parseItem(String(lines[index])))
      blocks.push({ kind: 'list', items })
      index--
    } else if (line !== '') {
      blocks.push(parseLine(line))
    }
  }
  return blocks
}

function isItem(line: string): boolean {
  return /^ *- /.test(line)
}

/** Each level is indented by two spaces more. */
function parseItem(line: string): MarkdownItem {
  const indent = line.indexOf('-')
  return { depth: Math.floor(indent / 2), line: parseSpans(line.slice(indent + 2)) }
}

function parseLine(line: string): MarkdownBlock {
  const [, marks, title = ''] = /^(#{1,6}) (.*)$/.exec(line) ?? []
  if (marks === undefined) return { kind: 'paragraph', line: parseSpans(line) }
  return { kind: 'heading', level: marks.length, line: parseSpans(title) }
}

/** A span ends with a run of as many backticks as it began with; one space at both ends is not part of it. */
function parseSpans(line: string): MarkdownSpan[] {
  const spans: MarkdownSpan[] = []
  let end = 0
  for (const match of line.matchAll(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/g)) {
    const [whole, , code = ''] = match
    if (match.index > end) spans.push({ text: line.slice(end, match.index), isCode: false })
    spans.push({ text: /^ .*[^ ].* $/.test(code) ? code.slice(1, -1) : code, isCode: true })
    end = match.index + whole.length
  }
  if (end < line.length) spans.push({ text: line.slice(end), isCode: false })
  return spans
}
