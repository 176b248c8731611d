import type { ExceptionView, FrameView } from '../panels/view-exceptions.ts'
import { toBlock, toSpan } from '../renderings/markdown/text.ts'
import type { ErrorReport, RoutingReport } from './create-report.ts'

/** Writes a report as Markdown that reads well in a terminal, in an issue and in a chat. */
export function toMarkdown(report: ErrorReport): string {
  const { address, exceptions, logs, method, routing, status, statusText, way } = report
  const parts = [
    `# ${status} ${statusText}`,
    toSpan(`${method} ${address}`),
    ...exceptions.flatMap(describeException),
    ...(routing === undefined ? [] : describeRouting(routing)),
    '## The way there',
    way.map(({ kind, name }) => `- ${kind}: ${name}`).join('\n'),
    ...(logs.length > 0
      ? ['## Logs', logs.map(log => `- ${log.offset} ${log.level} [${log.channel}] ${toSpan(log.message)}`).join('\n')]
      : []),
  ]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function describeException({ groups, message, name, relation, rest }: ExceptionView): string[] {
  const calls = groups.map(({ frames, label }) => (label === '' ? frames.map(describeFrame).join('\n') : `- ${label}`))
  const left = rest === '' ? [] : [`- ${rest}`]
  return [
    `## ${relation === '' ? '' : `${relation} `}${name}`,
    message === '' ? '' : toBlock(message),
    [...calls, ...left].join('\n'),
  ]
}

function describeFrame({ call, isOpen, lines, place }: FrameView): string {
  const line = `- ${toSpan(call)} at ${toSpan(place)}`
  if (!isOpen) return line
  const code = lines.map(({ isMarked, number, tokens }) => {
    const text = tokens.map(({ text }) => text).join('')
    return `${isMarked ? '>' : ' '} ${String(number).padStart(4)} | ${text}`.trimEnd()
  })
  return [line, '', toBlock(code.join('\n'), 'ts'), ''].join('\n')
}

function describeRouting({ allow, rows }: RoutingReport): string[] {
  const routes = rows.map(({ name, path, text }) => `- ${toSpan(path)} (${name}): ${text}`).join('\n')
  return ['## Nearest routes', allow === '' ? '' : `Allowed methods: ${allow}`, routes]
}
