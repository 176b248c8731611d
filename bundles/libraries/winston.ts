import { stripVTControlCharacters } from 'node:util'
import { type LoggedLine, loggedLines } from '../../kernel/contracts/process-calls.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'
import { notePrinted, toChannel, toContext, toLogLevel } from './printed-lines.ts'

/** Lines of winston 3, as their first transport prints them: each may have a level and a format of its own. */
export const winston: Library = {
  name: 'winston',
  reports: 'logs',
  seenBy: 'patch',
  notSeen: 'version 2; fields that a format does not print; lines that wait for a slow transport',
  changes: { 'winston/lib/winston/logger.js': logger => watchLogger(Object(logger).prototype) },
}

/** A line between its formats. Applications add any other fields. */
interface Info {
  readonly [name: string | symbol]: unknown
}

/** What a format without colours has made of the level, and the text that it has made of all. */
const [levelKey, textKey] = [Symbol.for('level'), Symbol.for('message')]

function watchLogger(prototype: object | undefined): void {
  /** Whether the line that is written now has been printed. A slow transport prints later, in another request. */
  let isReported: boolean | undefined
  observeMethod(prototype, 'write', () => {
    isReported = false
    return {
      after() {
        isReported = undefined
        notePrinted(undefined)
      },
    }
  })
  const watched = new WeakSet<object>()
  observeMethod(prototype, 'add', (_, [transport]) => {
    if (watched.has(Object(transport))) return
    watched.add(Object(transport))
    observeMethod(Object(transport), 'log', (_, [line]) => {
      const info = Object(line) as Info
      if (isReported === undefined) return
      notePrinted(info[textKey])
      if (!isReported) loggedLines.pass(toLogLevel(info[levelKey]), () => readLine(info))
      isReported = true
    })
  })
}

/** Reads what a line prints: its format may have hidden some of it. */
function readLine(info: Info): LoggedLine {
  const text = stripVTControlCharacters(String(info[textKey] ?? info.message))
  const { label, level: _, message, timestamp: __, ...others } = parseObject(text) ?? readPrinted(info, text)
  const said = stripVTControlCharacters(typeof message === 'string' ? message : (JSON.stringify(message) ?? ''))
  return {
    channel: toChannel('winston', label),
    message: said === '' || !isIn(text, said) ? text : said,
    context: toContext(others),
  }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined
  } catch {
    return undefined
  }
}

/** The fields whose values a text has. */
function readPrinted(info: Info, text: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(info).filter(([, value]) => isIn(text, typeof value === 'string' ? value : JSON.stringify(value))),
  )
}

/** A value may have colours. */
function isIn(text: string, value: string | undefined): boolean {
  if (value === undefined) return false
  const plain = stripVTControlCharacters(value)
  return text.includes(plain) || text.includes(JSON.stringify(plain).slice(1, -1))
}
