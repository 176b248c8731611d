import { durationOf, phasesOf, readCalls, type StoredCall } from '../profile/calls.ts'
import type { MessageData } from '../profile/content-data.ts'
import { intervalOf, placeOf, readCpu, type StoredCpu, type StoredFunction } from '../profile/cpu.ts'
import { type EventNode, ownTime, readEventTree } from '../profile/event-tree.ts'
import { type StoredException, toPlace } from '../profile/exceptions.ts'
import { writeContent } from '../profile/form-body.ts'
import { formatBytes, formatDuration, formatMicroseconds, formatShare } from '../profile/format.ts'
import { formatSize } from '../profile/format-value.ts'
import { readLogs, type StoredLog } from '../profile/logs.ts'
import { flattenRenders, type RenderLine, readRenders, renderOwnTime } from '../profile/renders.ts'
import { type Section, toBlock, toList, toSpan, toValueSpan, writeCaller } from './markdown-text.ts'

/** The measurements of the stopwatch. */
export const timeSection: Section = {
  panel: 'time',
  write({ profile }, limit) {
    const { measured = [] } = profile.collectors.time ?? {}
    if (measured.length === 0) return []
    const list = toList(measured, limit, ({ category, duration, name, periods }) => {
      const often = periods.length > 1 ? `, ${periods.length} times` : ''
      return `${toSpan(name)} (${toSpan(category)}) ${formatMicroseconds(duration)}${often}`
    })
    return ['## Stopwatch', list]
  },
}

/** The CPU time, memory and event loop of the process during the request. */
export const memorySection: Section = {
  panel: 'memory',
  write({ profile }) {
    const { memory } = profile.collectors
    if (memory === undefined) return []
    const { cpu, heap, loop, pauses, requests, wall } = memory
    const lines = [
      `- Until the response was sent: ${formatDuration(wall)}`,
      `- CPU of the process: ${formatDuration(cpu.user)} user, ${formatDuration(cpu.system)} system`,
      `- Event loop: ${formatDuration(loop.active)} active, ${formatDuration(loop.idle)} idle`,
      `- Heap: ${formatBytes(heap.before)} before, ${formatBytes(heap.after)} after`,
      `- Garbage collection: ${pauses.count} runs, ${formatDuration(pauses.total)}`,
      `- Concurrent requests: at most ${requests.most}`,
    ]
    return ['## Process', lines.join('\n')]
  },
}

/** The maximal depth of nested lists. */
const depthLimit = 20

/** The event tree as a nested list: dispatches, the called listeners, and their changes. */
export const eventsSection: Section = {
  panel: 'events',
  write({ profile }, limit) {
    const { dropped, nodes, roots } = readEventTree(profile)
    if (nodes.length === 0) return []
    const lines = roots.flatMap(root => writeNode(root, 0))
    // A tree has more items than other lists.
    const room = 3 * limit
    const left = Math.max(0, nodes.length - Math.min(lines.length, room)) + dropped
    return [
      '## Events',
      lines.slice(0, room).join('\n'),
      ...(left === 0 ? [] : [`${left.toLocaleString('en')} more are not listed.`]),
    ]
  },
}

function writeNode(node: EventNode, depth: number): string[] {
  if (depth === depthLimit) return []
  return [`${'  '.repeat(depth)}- ${describe(node)}`, ...node.children.flatMap(child => writeNode(child, depth + 1))]
}

function describe(node: EventNode): string {
  const { before, children, details, duration, hasThrown, isStopped, kind, name, priority } = node
  const time = duration === undefined ? 'not finished' : formatMicroseconds(duration)
  const own = children.length === 0 ? '' : ` (own ${formatMicroseconds(ownTime(node))})`
  const facts = [
    `${kind === 'request' ? 'sub-request ' : ''}${toSpan(name)} ${time}${own}`,
    ...(kind === 'call' ? [`priority ${priority}`] : []),
    ...(isStopped ? ['stopped propagation'] : []),
    ...(hasThrown ? ['threw'] : []),
    ...(details.length === 0
      ? []
      : [`${kind === 'dispatch' ? 'skipped' : ''} ${details.map(toSpan).join(', ')}`.trim()]),
    ...(before.length === 0 ? [] : [`before it ${before.map(toSpan).join(', ')}`]),
  ]
  return facts.join('; ')
}

/** The HTTP client calls with their outcomes and phases. */
export const callsSection: Section = {
  panel: 'http',
  write({ profile }, limit) {
    const { calls, omitted } = readCalls(profile)
    if (calls.length === 0) return []
    return [
      '## HTTP client calls',
      toList(calls, limit, writeCall),
      ...(omitted === 0 ? [] : [`${omitted.toLocaleString('en')} more not recorded.`]),
    ]
  },
}

function writeCall(call: StoredCall): string {
  const { bytes, caller, error, method, outcome, twin, url } = call
  const phases = phasesOf(call).map(({ duration, name }) => `${name} ${formatDuration(duration)}`)
  const facts = [
    `${toSpan(method)} ${toSpan(url)}: ${outcome.text}, ${formatDuration(durationOf(call))}`,
    ...(phases.length === 0 ? [] : [phases.join(', ')]),
    ...(bytes === undefined ? [] : [formatSize(bytes)]),
    ...(error === '' ? [] : [toSpan(error)]),
    ...(caller.file === undefined ? [] : [writeCaller(caller)]),
    ...(twin === undefined ? [] : ['repeated']),
  ]
  return [facts.join('; '), ...writeMessage('sent', call.request), ...writeMessage('received', call.response)].join(
    '\n',
  )
}

/** The content of a message on one line; its headers are in the JSON of the profile. */
function writeMessage(name: string, message: MessageData | undefined): string[] {
  const content = message?.content
  if (content === undefined) return []
  return [`  - ${name} ${toSpan(content.type)}: ${toSpan(writeContent(content))}`]
}

/** The renders as a nested list. */
export const templatesSection: Section = {
  panel: 'templates',
  write({ profile }, limit) {
    const { calls, pages, waited } = readRenders(profile)
    if (calls === 0) return []
    const lines = flattenRenders(pages)
    const left = lines.length - limit
    return [
      '## Templates',
      lines.slice(0, limit).map(writeRender).join('\n'),
      ...(left > 0 ? [`${left.toLocaleString('en')} more are not listed.`] : []),
      ...(waited === 0 ? [] : [`Waiting for sub-requests and globals: ${formatDuration(waited)}.`]),
    ]
  },
}

function writeRender({ branch, render, repeated }: RenderLine): string {
  const { hasFailed, keys, name } = render
  const total = [render, ...repeated].reduce((sum, { duration }) => sum + duration, 0)
  const facts = [
    `${toSpan(name)} ${formatDuration(total)} (own ${formatDuration(renderOwnTime(render))})`,
    ...(repeated.length === 0 ? [] : [`${repeated.length + 1} times`]),
    ...(hasFailed ? ['failed'] : []),
    ...(keys.length === 0 ? [] : [`model ${keys.map(toSpan).join(', ')}`]),
  ]
  // A branch is two characters wide, at each level.
  return `${'  '.repeat(Math.min(branch.length / 2, depthLimit))}- ${facts.join('; ')}`
}

/** The log messages with their contexts. */
export const logsSection: Section = {
  panel: 'logger',
  write({ profile }, limit) {
    const { dropped, logs } = readLogs(profile)
    if (logs.length === 0) return []
    return [
      '## Logs',
      toList(logs, limit, writeLog),
      ...(dropped === 0 ? [] : [`${dropped.toLocaleString('en')} log messages in the middle were not recorded.`]),
    ]
  },
}

function writeLog({ at, channel, context, exceptions, level, message, place }: StoredLog): string {
  const line = `+${formatMicroseconds(at)} ${level} ${toSpan(channel)} ${toSpan(message)}`
  return [
    place === '' ? line : `${line} at ${toSpan(place)}`,
    ...(Object.keys(context).length === 0 ? [] : [`  - context: ${toValueSpan(context)}`]),
    ...exceptions.flatMap(({ chain, name }) => chain.map(error => writeLogged(error, name))),
  ].join('\n')
}

/** An error of the context `name`: its class, message, properties, and the innermost frame of the application. */
function writeLogged({ frames, message, name: type, properties, relation }: StoredException, name: string): string {
  const frame = frames.find(({ origin }) => origin === 'application') ?? frames[0]
  const facts = [
    `${toSpan(name)}${relation === '' ? '' : `, ${relation}`}: ${toSpan(type)} ${toSpan(message)}`,
    ...(frame === undefined ? [] : [`at ${toSpan(toPlace(frame))}`]),
    ...properties.map(({ name, value }) => `${toSpan(name)}: ${toSpan(value)}`),
  ]
  return `  - ${facts.join('; ')}`
}

/** The functions with the most CPU time, and source excerpts of those of the application. */
export const cpuSection: Section = {
  panel: 'cpu',
  write({ profile }, limit) {
    const cpu = readCpu(profile)
    if (cpu === undefined) return []
    const hot = cpu.functions.filter(({ self }) => self > 0)
    return [
      '## CPU',
      toFacts(cpu),
      '### Hot spots',
      hot.length === 0 ? 'No CPU activity in the samples.' : toList(hot, limit, spot => writeSpot(spot, cpu)),
      ...cpu.excerpts.flatMap(({ file, line, lines, start }) => [
        `Source of ${toSpan(`${file}:${line}`)}, the hottest line marked:`,
        toBlock(lines.map((text, index) => writeLine(text, start + index, line)).join('\n'), 'ts'),
      ]),
    ]
  },
}

function toFacts(cpu: StoredCpu): string {
  const { busy, idle, isCut, others, samples, startup } = cpu
  return [
    `- Busy: ${formatMicroseconds(busy)}; waiting: ${formatMicroseconds(idle)}`,
    `- Samples: ${samples.toLocaleString('en')}, one every ${formatMicroseconds(intervalOf(cpu))}; start of the V8 profiler ${formatMicroseconds(startup)}`,
    `- Concurrent requests in the same samples: ${others}`,
    ...(isCut ? ['- Sampling stopped before the request ended.'] : []),
  ].join('\n')
}

function writeSpot(spot: StoredFunction, { busy }: StoredCpu): string {
  const { name, origin, package: owner = origin, self, total } = spot
  const place = placeOf(spot)
  const at = place === '' ? '' : ` at ${toSpan(place)}`
  return `${formatShare(self, busy)} ${toSpan(name)}${at} (${owner}): own ${formatMicroseconds(self)}, with its calls ${formatMicroseconds(total)}`
}

function writeLine(text: string, number: number, hot: number): string {
  return `${number === hot ? '>' : ' '} ${String(number).padStart(4)} | ${text}`.trimEnd()
}
