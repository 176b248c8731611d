import { formatSql } from '../../../../lib/sql/format.ts'
import { isDocumentStore, readTokens } from '../../../../lib/sql/tokens.ts'
import { highlightSql, type Token } from '../../../../lib/stack/highlight.ts'
import { TextMemo } from '../../../../lib/text/text-memo.ts'
import { HtmlFragment, type View } from '../../../../lib/view/view.ts'
import { formatValue, shorten, toOneLine } from '../../profile/format.ts'
import { type StoredQuery, shapeOf } from './read.ts'

/**
 * Shows the different statements of a page, by their shapes: the colours depend on the system. The
 * texts are masked. The views are kept for the next page.
 */
export async function viewStatements(
  kind: StoredQuery['kind'],
  statements: Iterable<Statement>,
  view: View,
): Promise<ReadonlyMap<string, StatementView>> {
  const views = new Map<string, StatementView>()
  let coloured = 0
  for (const statement of statements) {
    const { text } = statement
    const shape = shapeOf(statement)
    if (views.has(shape)) continue
    const known = kept[kind].get(shape)
    const hasColours = known === undefined && coloured < colourLimit && text.length <= longestColoured
    const style = coloursOf(kind, statement)
    const found = known ?? (await viewStatement(statement, hasColours ? style : { ...style, ...plain }, view))
    views.set(shape, found)
    if (!hasColours) continue
    coloured++
    kept[kind].set(shape, found)
  }
  return views
}

/** A statement or a command as a page shows it. */
export interface StatementView {
  /** One line, with as much of it as there is room for. */
  readonly line: HtmlFragment
  /** The line in pieces, between which its values are: one more than `gaps`. */
  readonly pieces: readonly HtmlFragment[]
  /**
   * The first piece where the statement has been seen: what is the same in each query, and the
   * words before its first value.
   */
  readonly again: readonly [known: HtmlFragment, before: HtmlFragment]
  /** The indexes of the values between the pieces. */
  readonly gaps: readonly number[]
  /** How many values the whole statement has. */
  readonly values: number
  /** Whether a name says which of them is where. */
  readonly isNamed: boolean
  /** All of it; SQL is laid out. */
  readonly whole: HtmlFragment
}

/** The line of a query with its values; without them if they are not known for each placeholder. */
export function viewLine(
  statement: StatementView | undefined,
  { error, parameters = [] }: StoredQuery,
  isAgain: boolean,
) {
  if (statement === undefined) return { pieces: [], isShort: false }
  const { again, gaps, line, pieces, values } = statement
  // A query may have failed because a value is missing: then the values are those of other placeholders.
  const isCertain = values === parameters.length && (error === '' || !statement.isNamed)
  const valueAt = (index: number) => shorten(toOneLine(formatValue(parameters[index]?.[1])), shownValue)
  const [first, ...others] = isCertain ? pieces : [line]
  const known = isAgain && isCertain && gaps.length > 0
  return {
    isShort: known,
    known: known && again[0],
    pieces: [known ? again[1] : first, ...others].map((code, at) => {
      const gap = isCertain ? gaps[at] : undefined
      return { code, value: gap === undefined ? '' : valueAt(gap) }
    }),
    // Values that have no place in the line follow it.
    after: isCertain
      ? []
      : parameters
          .slice(0, valuesAfter)
          .map(([name, value]) => ({ name, value: shorten(toOneLine(formatValue(value)), shownValue) })),
  }
}

/** Characters of a value in a line, and values behind it. The details have all of them. */
const shownValue = 60
const valuesAfter = 5

/** Characters of the line. */
const lineLimit = 160

/** Further different statements of a page have no colours. */
const colourLimit = 60

/** A longer statement has no colours: the time of the highlighter may grow with the square of its length. */
const longestColoured = 5000

const kept = {
  database: new TextMemo<StatementView>(300, longestColoured),
  cache: new TextMemo<StatementView>(300, longestColoured),
}

async function viewStatement(
  { system, text }: Statement,
  { hasPlaceholders, layOut, split }: Colours,
  view: View,
): Promise<StatementView> {
  const folded = toOneLine(text)
  const render = async (lines: readonly (readonly Token[])[]) => {
    const tokens = lines.flatMap((line, index) => (index === 0 ? line : [lineBreak, ...line]))
    return new HtmlFragment(await view.render('profiler/tokens', { tokens }))
  }
  const renderText = (text: string) => render(split(text, system))
  const shown = shorten(folded, lineLimit).toWellFormed()
  const found = hasPlaceholders ? findPlaceholders(folded, system) : []
  const inLine = found.filter(({ end }) => end < shown.length || shown === folded)
  const texts = [0, ...inLine.map(({ end }) => end)].map((from, at) => shown.slice(from, inLine[at]?.start))
  const [lead = ''] = texts
  const isKnown = /^(?:.*\b(?:WHERE|SET|VALUES|AND|OR|ON|IN|LIMIT|BY|HAVING)\b)?/is.exec(lead)?.[0] ?? ''
  return {
    line: await renderText(shown),
    pieces: await Promise.all(texts.map(renderText)),
    again: [
      await renderText(isKnown.replace(/^(SELECT)\s.*?(\sFROM)\b/is, '$1 …$2').replace(/\(.*\)/s, '(…)')),
      await renderText(lead.slice(isKnown.length)),
    ],
    gaps: inLine.map(({ value }) => value),
    values: new Set(found.map(({ value }) => value)).size,
    isNamed: found.some(({ isNamed }) => isNamed),
    whole: await renderText(layOut(text, system)),
  }
}

/** Finds the placeholders of a statement, each with the index of its value: the same number or name has the same. */
function findPlaceholders(statement: string, system: string) {
  const values = new Map<string, number>()
  let from = 0
  return readTokens(statement, system).flatMap(({ kind, text }) => {
    const start = statement.indexOf(text, from)
    from = start + text.length
    if (kind !== 'placeholder') return []
    const key = text === '?' ? `${start}` : text
    const value = values.get(key) ?? values.size
    values.set(key, value)
    return { start, end: from, value, isNamed: /[a-z]/i.test(text) }
  })
}

const lineBreak: Token = { kind: '', text: '\n' }

/** A statement, and the system whose words it has. */
type Statement = Pick<StoredQuery, 'system' | 'text'>

/** How a kind of text is laid out and coloured. */
interface Colours {
  readonly hasPlaceholders: boolean
  readonly layOut: (text: string, system: string) => string
  readonly split: (text: string, system: string) => Token[][]
}

const plain = {
  layOut: (text: string) => text,
  split: (text: string): Token[][] => [[{ kind: '', text }]],
}

const colours: Readonly<Record<StoredQuery['kind'], Colours>> = {
  database: { hasPlaceholders: true, layOut: formatSql, split: highlightSql },
  cache: { hasPlaceholders: false, layOut: text => text, split: splitCommand },
}

/** A command of MongoDB has a name and a collection, as one of a cache has a name and a key. */
function coloursOf(kind: StoredQuery['kind'], { system }: Statement): Colours {
  return isDocumentStore(system) ? colours.cache : colours[kind]
}

/** Splits a command of a cache into its name, its key, and the rest. */
function splitCommand(text: string): Token[][] {
  const end = (from: number) => from + text.slice(from).search(/\s|$/)
  const afterName = end(0)
  const afterKey = end(Math.min(afterName + 1, text.length))
  const tokens: Token[] = [
    { kind: 'keyword', text: text.slice(0, afterName) },
    { kind: 'name', text: text.slice(afterName, afterKey) },
    { kind: '', text: text.slice(afterKey) },
  ]
  return [tokens.filter(({ text }) => text !== '')]
}
