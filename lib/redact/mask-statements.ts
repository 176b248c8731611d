import { findQuoteEnd, quoteAt } from './find-end.ts'
import { mask } from './mask.ts'
import type { NameTest } from './secret-names.ts'

const insert = /\binto\s{1,9}[\w."`[\]]{1,128}\s{0,9}\(([^()]{1,2000})\)\s{0,9}values?\s{0,9}(?=\()/gi
const tupleGap = /\s{0,9},\s{0,9}(?=\()/y

/** Masks what is written into columns of secret names: `INSERT INTO users (name, password) VALUES ('ada', 'x')`. */
export function maskInserts(text: string, isSecret: NameTest): string {
  let masked = ''
  let done = 0
  for (const match of text.matchAll(insert)) {
    const columns = String(match[1])
      .split(',')
      .map(column => isSecret(column.replace(/[\s"'`[\]]/g, '')))
    if (match.index < done || !columns.includes(true)) continue
    let at = match.index + match[0].length
    do {
      for (const { end, index, start } of readTuple(text, at + 1)) {
        if (columns[index] && start < end) {
          masked += text.slice(done, start) + mask
          done = end
        }
        at = end
      }
      at = skipTupleEnd(text, at)
    } while (text.charAt(at) === '(')
  }
  return masked + text.slice(done)
}

/** The values of a tuple; of those in quotes, what is in them. */
function* readTuple(text: string, from: number): Generator<{ index: number; start: number; end: number }> {
  let at = from
  let index = 0
  do {
    while (/\s/.test(text.charAt(at))) at++
    if (/[EN]/i.test(text.charAt(at)) && quoteAt(text, at + 1) !== '') at++
    const quote = quoteAt(text, at)
    const start = at + quote.length
    const end = quote === '' ? findPlainEnd(text, at) : findQuoteEnd(text, start, quote)
    yield { index: index++, start, end }
    at = findPlainEnd(text, end + quote.length) + 1
  } while (text.charAt(at - 1) === ',')
}

function findPlainEnd(text: string, from: number): number {
  return from + text.slice(from).search(/[,)\r\n]|$/)
}

function skipTupleEnd(text: string, from: number): number {
  const close = findPlainEnd(text, quoteAt(text, from) === '' ? from : from + 1)
  tupleGap.lastIndex = close + 1
  return text.charAt(close) === ')' && tupleGap.test(text) ? tupleGap.lastIndex : text.length
}
