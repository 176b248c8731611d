/** A mistake in the text of a template. */
export interface TextMistake {
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
  readonly text: string
}

/** The place of the token at which a parser of Handlebars has stopped. The column is from 0. */
export interface LexerToken {
  readonly first_line: number
  readonly first_column: number
}

/** Explains what Handlebars has thrown for the grammar of a template: its messages list names of tokens. */
export function explainSyntax(source: string, message: string, token: LexerToken): TextMistake {
  const [, got = 'EOF'] = /got '(\w+)'$/.exec(message) ?? []
  const isInside = /^(?:EQUALS|INVALID|CLOSE_BLOCK_PARAMS)$/.test(got)
  const unbalanced = isInside ? undefined : findUnbalanced(source)
  if (unbalanced !== undefined) return unbalanced
  const place = { line: token.first_line, column: token.first_column + 1 }
  const offset = offsetOf(source, place)
  const start = source.lastIndexOf('{{', offset)
  const [expression = ''] = /^\{\{[^{}]*\}*/.exec(source.slice(Math.max(start, 0))) ?? []
  const rest = source.slice(offset)
  const shown = expression.replace(/\s+/g, ' ').slice(0, 80)
  if (start !== -1 && !expression.endsWith('}}'))
    return { ...place, text: `${shown} is not closed: an expression ends with }}` }
  const [, list] = /^([\w.]+)\[/.exec(rest) ?? []
  if (list !== undefined) return { ...place, text: `${shown}: an item of a list is {{${list}.[0]}}` }
  const reason = isInside ? noOperators : `it cannot be read at "${/^(?:\}+|[^\s}]{1,20})/.exec(rest)?.[0] ?? ''}"`
  return { ...place, text: `${shown}: ${reason}` }
}

/** The reason why `{{a + b}}` is a mistake. */
export const noOperators =
  'templates have no operators, methods and filters: write a helper, or compute the value in the controller'

function offsetOf(source: string, { column, line }: Pick<TextMistake, 'line' | 'column'>): number {
  const before = source.split('\n').slice(0, line - 1)
  return before.reduce((length, each) => length + each.length + 1, 0) + column - 1
}

function placeOf(source: string, offset: number): Pick<TextMistake, 'line' | 'column'> {
  const lines = source.slice(0, offset).split('\n')
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 }
}

/** Escaped braces, comments, the begin and the end of a block, and `else`. */
const parts =
  /\\\{\{|\{\{~?!--(?:[\s\S]*?--~?\}\}|[\s\S]*$)|\{\{~?![\s\S]*?\}\}|\{\{~?\s*(?:(#[>*]?|\/|\^(?!\s*~?\}\}))\s*("[^"]*"|'[^']*'|[^\s}~|]*)|(else|\^)(?:\s+(\w+))?)/g

/** Finds the first block without an end, and the first end without a block; `undefined` where each has its other. */
function findUnbalanced(source: string): TextMistake | undefined {
  const open: { readonly name: string; readonly begin: string; readonly offset: number; hasElse: boolean }[] = []
  for (const { index: offset, 0: text, 1: sign, 2: written = '', 3: other, 4: condition } of source.matchAll(parts)) {
    const refuse = (reason: string, at = offset) => ({ ...placeOf(source, at), text: reason })
    const name = sign === '#*' ? 'inline' : written.replace(/^(["'])(.*)\1$/, '$2')
    const last = open.at(-1)
    if (text.startsWith('{{!--') && !text.endsWith('}}')) return refuse('the comment has no end: write --}}')
    if (other !== undefined) {
      if (last === undefined) return refuse(`{{${other}}} is in no block`)
      if (last.hasElse) return refuse(`${last.begin} has a second {{${other}}}: write {{else if value}} before it`)
      last.hasElse = condition === undefined
    } else if (sign === '/') {
      if (last === undefined) return refuse(`{{/${name}}} closes no block`)
      // A computed name has an end of its own.
      if (last.name !== name && !last.name.startsWith('('))
        return refuse(`${last.begin} has no end before {{/${name}}}: write {{/${last.name}}}`, last.offset)
      open.pop()
    } else if (sign !== undefined)
      open.push({ name, begin: `{{${sign}${sign === '#>' ? ' ' : ''}${written}}}`, offset, hasElse: false })
  }
  const last = open.at(-1)
  return last && { ...placeOf(source, last.offset), text: `${last.begin} has no end: write {{/${last.name}}}` }
}

/** What is wrong with the bytes of a template, if its text is one of another encoding. */
export function findEncoding(source: string, isUtf8: () => boolean): TextMistake | undefined {
  if (source.includes('\0')) return { line: 1, column: 1, text: 'it is UTF-16, and must be UTF-8' }
  // A text may have the character that stands for wrong bytes.
  const index = source.indexOf('\uFFFD')
  if (index === -1 || isUtf8()) return undefined
  return { ...placeOf(source, index), text: 'a byte is not UTF-8: save the file as UTF-8' }
}

/** A tag of Twig, EJS, PHP or Blade, which a page would show as text. A page about it has it in an element for code. */
export function findForeignTag(source: string): TextMistake | undefined {
  const page = blank(source, shownText)
  const found = foreignTag.exec(page)
  if (found === null) return undefined
  const right = 'write {{#each items}} … {{/each}}, {{#if item}} … {{/if}}, {{> partial}} (text is in <code>)'
  const text = `${found[0]} is of another language, templates are Handlebars: ${right}`
  return { ...placeOf(page, found.index), text }
}

const foreignTag =
  /\{%-?\s*(?:for|if|else|elif|elsif|elseif|end\w*|block|extends|include|set|assign|macro|import|from|trans|url|csrf_token)\b[^\n%]*?-?%\}|<%[-=_](?=\s*[\w$])[^\n]*?%>|<%[_\s]\s*[^\n]*?%>|<\?(?:php\b|=)[^\n]*?(?:\?>|$)|\{!!\s*\$[^\n]*?!!\}|^[ \t]*@(?:(?:extends|section|yield|foreach|include)\s*\([^\n]*\)|csrf|endif|endforeach|endsection)[ \t]*\r?$/m

/** The methods of forms that a browser does not send: it has GET and POST, and `dialog`. */
export function findFormMethods(source: string): { readonly line: number; readonly method: string }[] {
  const page = blank(source, shownElement)
  return [...page.matchAll(/<form\b[^>]*?\smethod\s*=\s*["']?(put|patch|delete|head|options)\b/gi)].map(
    ({ 1: method = '', index }) => ({ line: placeOf(page, index).line, method }),
  )
}

function blank(source: string, pattern: RegExp): string {
  return source.replace(pattern, text => text.replace(/[^\n]/g, ' '))
}

/** Elements and comments whose texts are shown, or read by a script. */
const shownElement =
  /<(code|pre|script|style|textarea|template|samp|kbd|xmp)\b[\s\S]*?<\/\1>|\{\{~?!--[\s\S]*?--~?\}\}|<!--[\s\S]*?-->/gi

/** These, expressions, and attributes that are shown: `placeholder="<%= name %>"`. */
const shownText = new RegExp(
  `${shownElement.source}|\\{\\{[\\s\\S]*?\\}\\}|\\s(?!(?:href|src|action|class|id)\\b)[\\w:@.-]+=(?:"[^"]*"|'[^']*')`,
  'gi',
)
