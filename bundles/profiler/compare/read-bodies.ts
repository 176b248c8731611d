import { formatSize, formatText } from '../format/format-soft.ts'
import { formatValue } from '../format/format-value.ts'
import type { Profile } from '../profile.ts'
import { asList, asObject, asObjects } from '../reading/read-soft.ts'
import { readPairs } from './read-pairs.ts'

/** Reads what was sent in the body of a request, as far as it was kept: its fields one by one. */
export function readRequestBody({ data }: Profile): Map<string, string> {
  const body = asObject(asObject(asObject(data).request).body)
  const parts: [string, string][] = [
    ['media type', formatText(body.type)],
    ['length', formatSize(body.length)],
    ['state', formatText(body.state)],
    ['JSON', asList(body.json).length === 0 ? '' : formatValue(asList(body.json)[0])],
    ...[...readPairs(body.form, true, [])].map(([name, values]): [string, string] => [
      `field “${name}”`,
      values.join('\n'),
    ]),
    ...asObjects(body.files).map(({ field, name, size }, index): [string, string] => [
      `file ${index + 1}`,
      [formatText(field), formatText(name), formatSize(size)].join(', '),
    ]),
  ]
  return new Map(parts.filter(([, text]) => text !== ''))
}

/** Headers of error pages that the profiler has made: what they show has times in it. */
const ownPageHeader = 'x-debug-exception'

/** Reads what is known of the body of a response: its size before compression. What stood in it is not recorded. */
export function readResponseBody({ data }: Profile): Map<string, string> {
  const { headers, isStreamed, size } = asObject(asObject(data).response)
  if (readPairs(headers, false, []).has(ownPageHeader)) return new Map()
  const parts: [string, string][] = [
    ['size', formatSize(size)],
    ['sent as', isStreamed === true ? 'a stream' : isStreamed === false ? 'a whole' : ''],
  ]
  return new Map(parts.filter(([, text]) => text !== ''))
}
