import { styleText } from 'node:util'
import { cut } from '../redact/masking-copier.ts'
import { escapeControls } from '../text/escape-controls.ts'
import type { LogLevel, LogRecord } from './logger.ts'
import { isLogError, type LogError, placeholdersOf } from './record.ts'

const colours = {
  debug: 'gray',
  info: 'cyan',
  warning: 'yellow',
  error: 'red',
  critical: 'magenta',
} as const satisfies Record<LogLevel, string>

/**
 * Formats a record for people: local time, level, channel, message, the part of the context that is not in the message,
 * the beginnings of the ids of request and trace, and each error with its stack on indented lines. No text of a record can begin a line or control the terminal.
 */
export function formatReadable(record: LogRecord, isColoured: boolean): string {
  const { level, channel, message, template = '', context, requestId, span } = record
  const style = (colour: Parameters<typeof styleText>[0], text: string) =>
    isColoured ? styleText(colour, text, { validateStream: false }) : text

  const filled = new Set(placeholdersOf(template))
  const isRest = (name: string, value: unknown) => value !== undefined && !filled.has(name) && !isLogError(value)
  const rest = Object.entries(context).filter(([name, value]) => isRest(name, value))
  // An error without a stack whose message is part of the line adds nothing.
  const addsDetails = ({ message: own, stack }: LogError) => stack !== '' || !message.includes(own)
  const errors = Object.values(context).filter(isLogError).filter(addsDetails)
  const line = [
    style('gray', toLocalTime(record.time)),
    style(colours[level], level.toUpperCase().padEnd('CRITICAL'.length)),
    `${escapeControls(channel)} `,
    escapeControls(message),
    ...(rest.length > 0 ? [style('gray', escapeControls(JSON.stringify(Object.fromEntries(rest))))] : []),
    ...(requestId === undefined ? [] : [style('gray', `request=${requestId.slice(0, 8)}`)]),
    ...(span ? [style('gray', `trace=${span.traceId.slice(0, 8)}`)] : []),
  ].join(' ')
  return [line, ...errors.flatMap(error => linesOf(error, ''))].map(text => `${text}\n`).join('')
}

function toLocalTime(time: string): string {
  const date = new Date(time)
  const pad = (value: number, length = 2) => String(value).padStart(length, '0')
  const seconds = `${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${seconds}`
}

function linesOf(error: LogError, relation: string): string[] {
  const code = error.code === undefined || error.code === error.name ? '' : ` [${error.code}]`
  const head = `  ${relation}${error.name}${code}: ${error.message}`
  const properties = Object.entries(error.properties ?? {}).map(([name, value]) => `    ${name}: ${toLine(value)}`)
  const frames = error.stack === '' ? [] : error.stack.split('\n').map(frame => `    ${frame}`)
  const note = error.note === undefined ? [] : [`    ${error.note}`]
  return [
    ...[head, ...properties, ...frames, ...note].map(escapeControls),
    ...(error.cause ? linesOf(error.cause, 'caused by ') : []),
    ...(error.errors ?? []).flatMap(inner => linesOf(inner, 'gathers ')),
  ]
}

const lineLimit = 500

function toLine(value: unknown): string {
  return cut(typeof value === 'string' ? value : String(JSON.stringify(value)), lineLimit)
}
