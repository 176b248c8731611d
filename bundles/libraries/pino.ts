import { hostname } from 'node:os'
import { type LoggedLine, loggedLines } from '../../kernel/contracts/process-calls.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'
import { toChannel, toContext, toLogLevel } from './printed-lines.ts'

/** Lines of pino, which are those of Fastify, AdonisJS, pino-http and nestjs-pino, too: what they have when printed. */
export const pino: Library = {
  name: 'pino',
  reports: 'logs',
  seenBy: 'patch',
  notSeen: 'in a bundle; version 5; the level of a target of a transport: its lines are those of its logger',
  changes: { 'pino/lib/tools.js': watchPino },
}

/** A logger of pino; its other properties have symbols, which each copy of pino has for itself. */
interface PinoLogger {
  readonly levels: { readonly labels: Readonly<Record<number, string>> }
  readonly [symbol: symbol]: unknown
}

function watchPino(tools: unknown, _file: string, module: NodeJS.Module | undefined): void {
  // In version 5 it has other arguments.
  if (module === undefined || Object(tools).asJson?.length !== 4) return
  const { hooksSym, messageKeySym, streamSym } = module.require('./symbols') as Readonly<Record<string, symbol>>
  const report = (logger: PinoLogger, number: unknown, line: unknown) =>
    loggedLines.pass(toLogLevel(logger.levels.labels[Number(number)]), () =>
      readLine(String(line), String(logger[messageKeySym as symbol])),
    )
  /** A line that a hook of its logger changes before it is written. */
  let changed: [logger: PinoLogger, number: unknown] | undefined
  const watched = new WeakSet<object>()
  const watchStream = (stream: object) => {
    if (watched.has(stream)) return
    watched.add(stream)
    observeMethod(stream, 'write', (_, [line]) => {
      if (changed !== undefined) report(...changed, line)
      changed = undefined
    })
  }
  observeMethod(Object(tools), 'asJson', (self, [, , number]) => ({
    after(line) {
      const logger = self as PinoLogger
      if (Object(logger[hooksSym as symbol]).streamWrite === undefined) report(logger, number, line)
      else {
        changed = [logger, number]
        watchStream(Object(logger[streamSym as symbol]))
      }
    },
  }))
}

function readLine(line: string, messageKey: string): LoggedLine {
  let fields: Readonly<Record<string, unknown>>
  try {
    fields = JSON.parse(line)
  } catch {
    return { channel: 'pino', message: line.trim(), context: {} }
  }
  const { [messageKey]: message = '', hostname: host, level: _, name, pid, time: __, ...others } = fields
  return {
    channel: toChannel('pino', name),
    message: typeof message === 'string' ? message : JSON.stringify(message),
    context: toContext({
      ...others,
      // Those of the process say nothing; the application may have others.
      ...(host !== undefined && host !== hostname() && { hostname: host }),
      ...(pid !== undefined && pid !== process.pid && { pid }),
    }),
  }
}
