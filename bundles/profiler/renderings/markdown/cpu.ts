import { formatMicroseconds } from '../../format/format-microseconds.ts'
import { formatShare } from '../../format/format-share.ts'
import { intervalOf, placeOf, readCpu, type StoredCpu, type StoredFunction } from '../../reading/read-cpu.ts'
import type { Section } from './section.ts'
import { toBlock, toList, toSpan } from './text.ts'

/** Where the CPU spent its time, the hottest function first, with the sources of those that are the application's. */
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
      hot.length === 0 ? 'The CPU was not seen at work.' : toList(hot, limit, spot => writeSpot(spot, cpu)),
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
    `- Samples: ${samples.toLocaleString('en')}, one every ${formatMicroseconds(intervalOf(cpu))}; V8 took ${formatMicroseconds(startup)} to begin`,
    `- Other requests in the same samples: ${others}`,
    ...(isCut ? ['- Sampling ended before the request did.'] : []),
  ].join('\n')
}

function writeSpot(spot: StoredFunction, { busy }: StoredCpu): string {
  const { name, origin, self, total } = spot
  const place = placeOf(spot)
  const at = place === '' ? '' : ` at ${toSpan(place)}`
  return `${formatShare(self, busy)} ${toSpan(name)}${at} (${origin}): own ${formatMicroseconds(self)}, with its calls ${formatMicroseconds(total)}`
}

function writeLine(text: string, number: number, hot: number): string {
  return `${number === hot ? '>' : ' '} ${String(number).padStart(4)} | ${text}`.trimEnd()
}
