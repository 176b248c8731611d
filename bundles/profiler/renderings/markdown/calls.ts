import { formatDuration } from '../../format/format-duration.ts'
import { formatSize } from '../../format/format-soft.ts'
import { durationOf, phasesOf, readCalls, type StoredCall } from '../../reading/read-calls.ts'
import { asNumber, asText } from '../../reading/read-soft.ts'
import type { Section } from './section.ts'
import { toList, toSpan } from './text.ts'

/** Which HTTP requests the application has sent, how they ended, and what their time went to. */
export const callsSection: Section = {
  panel: 'http',
  write({ profile }, limit) {
    const { calls, omitted } = readCalls(profile)
    if (calls.length === 0) return []
    return [
      '## Outgoing requests',
      toList(calls, limit, writeCall),
      ...(omitted === 0 ? [] : [`${omitted.toLocaleString('en')} more were not recorded.`]),
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
    ...(caller.file === undefined
      ? []
      : [`by ${toSpan(asText(caller.function))} at ${toSpan(`${asText(caller.file)}:${asNumber(caller.line)}`)}`]),
    ...(twin === undefined ? [] : ['asked for before']),
  ]
  return facts.join('; ')
}
