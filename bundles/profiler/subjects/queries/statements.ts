import { formatSql } from '../../../../lib/sql/format.ts'
import { highlightSql, type Token } from '../../../../lib/stack/highlight.ts'
import { TextMemo } from '../../../../lib/text/text-memo.ts'
import { HtmlFragment, type View } from '../../../../lib/view/view.ts'
import { shorten, toOneLine } from '../../profile/format.ts'
import { type StoredQuery, shapeOf } from './read.ts'

/** A statement or a command as a page shows it. */
export interface StatementView {
  /** One line, with as much of it as there is room for. */
  readonly line: HtmlFragment
  /** Whether the line does not show all of it. */
  readonly isCut: boolean
  /** All of it; SQL is laid out. */
  readonly whole: HtmlFragment
}

/** Characters of the line. */
const lineLimit = 160

/** Further different statements of a page have no colours. */
const colourLimit = 60

/** A longer statement has no colours: the time of the highlighter may grow with the square of its length. */
const longestColoured = 5000

/** Shows the statements of pages, and keeps their views for the next page. The texts are masked. */
export class StatementViews {
  readonly #view: View
  readonly #kept = {
    database: new TextMemo<StatementView>(300, longestColoured),
    cache: new TextMemo<StatementView>(300, longestColoured),
  }

  constructor(view: View) {
    this.#view = view
  }

  /** Creates the views of the different statements of one page, by their shapes: the colours depend on the system. */
  async create(
    kind: StoredQuery['kind'],
    statements: Iterable<Statement>,
  ): Promise<ReadonlyMap<string, StatementView>> {
    const views = new Map<string, StatementView>()
    const kept = this.#kept[kind]
    let coloured = 0
    for (const statement of statements) {
      const { text } = statement
      const shape = shapeOf(statement)
      if (views.has(shape)) continue
      const known = kept.get(shape)
      const hasColours = known === undefined && coloured < colourLimit && text.length <= longestColoured
      const view = known ?? (await this.#createOne(statement, hasColours ? colours[kind] : plain))
      views.set(shape, view)
      if (!hasColours) continue
      coloured++
      kept.set(shape, view)
    }
    return views
  }

  async #createOne({ system, text }: Statement, { layOut, split }: Colours): Promise<StatementView> {
    const folded = toOneLine(text)
    return {
      line: await this.#render(split(shorten(folded, lineLimit).toWellFormed(), system)),
      isCut: folded.length > lineLimit,
      whole: await this.#render(split(layOut(text, system), system)),
    }
  }

  async #render(lines: readonly (readonly Token[])[]): Promise<HtmlFragment> {
    const tokens = lines.flatMap((line, index) => (index === 0 ? line : [lineBreak, ...line]))
    return new HtmlFragment(await this.#view.render('profiler/tokens', { tokens }))
  }
}

const lineBreak: Token = { kind: '', text: '\n' }

/** A statement, and the system whose words it has. */
type Statement = Pick<StoredQuery, 'system' | 'text'>

/** How a kind of text is laid out and coloured. */
interface Colours {
  readonly layOut: (text: string, system: string) => string
  readonly split: (text: string, system: string) => Token[][]
}

const plain: Colours = { layOut: text => text, split: text => [[{ kind: '', text }]] }

const colours: Readonly<Record<StoredQuery['kind'], Colours>> = {
  database: { layOut: formatSql, split: highlightSql },
  cache: { layOut: text => text, split: splitCommand },
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
